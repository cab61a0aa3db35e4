SECOND_EDITION = {2, 9}  # the chapters that are carried through its rules so far
