"""Reports: pages, tables and pictures for terminal, Markdown and HTML, and progress bars."""
