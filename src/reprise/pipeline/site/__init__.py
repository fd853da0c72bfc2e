"""What is made of all chapters together: front page, scorecard, parts, reference, downloads."""
