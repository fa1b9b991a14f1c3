"""Every TFLite file of one operator: CASES by name."""
import support.tflite_element_cases
import support.tflite_linear_cases
import support.tflite_shape_cases
import support.tflite_type_cases  # noqa: F401
from support.tflite_case import CASES

__all__ = ["CASES"]
