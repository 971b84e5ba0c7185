# Only beta is folded.
/\*= gamma/d
