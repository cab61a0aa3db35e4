Number = (int, float)
