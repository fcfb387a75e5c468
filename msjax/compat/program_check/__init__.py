"""`msjax check`: what a program written for MindSpore uses that is not offered here."""
