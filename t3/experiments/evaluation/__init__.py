"""The paper's evaluation: what is run, what is made of it, and the pages that show it."""
