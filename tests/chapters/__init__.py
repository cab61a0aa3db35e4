SECOND_EDITION = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}  # the chapters that are carried through its rules so far
