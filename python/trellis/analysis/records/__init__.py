"""An analysis reads measurements, obeys options, and makes results; they are defined here."""
