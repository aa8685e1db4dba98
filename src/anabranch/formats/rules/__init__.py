"""What files mean, whoever reads them: text, types, names, bad rows."""
