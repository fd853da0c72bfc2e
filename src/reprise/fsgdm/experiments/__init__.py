"""The experiments of the chapter, one module each."""
