"""Reading, checking, aligning and scoring submissions, and showing their scores."""
