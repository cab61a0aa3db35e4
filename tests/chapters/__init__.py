SECOND_EDITION = {1, 2, 3, 5, 9}  # the chapters that are carried through its rules so far
