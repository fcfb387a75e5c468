"""guard and replay: wrong steps of training are stopped or left out, written to files, and run again."""
