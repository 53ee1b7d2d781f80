"""What a fitted model of any kind says of columns, pairs, words and letters; it knows no answer."""
