SECOND_EDITION = {9}  # the chapters that are carried through its rules so far
