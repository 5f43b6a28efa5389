"""Tests from judged answers: samples of a log, files for test programs, and recorded prompts sent to models."""
