import torch


def assert_close(actual, expected, rtol=None, atol=None, equal_nan=False, check_dtype=True):
    if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
        if len(actual) != len(expected):
            raise AssertionError("The length of the sequences mismatch: %d != %d" % (len(actual), len(expected)))
        for a, b in zip(actual, expected):
            assert_close(a, b, rtol, atol, equal_nan, check_dtype)
        return
    actual, expected = torch.as_tensor(actual), torch.as_tensor(expected)
    if actual.shape != expected.shape:
        raise AssertionError(
            "The values for attribute 'shape' do not match: %r != %r." % (actual.shape, expected.shape)
        )
    if check_dtype and actual.dtype is not expected.dtype:
        raise AssertionError(
            "The values for attribute 'dtype' do not match: %r != %r." % (actual.dtype, expected.dtype)
        )
    if rtol is None:
        rtol, atol = _TOLERANCES.get(actual.dtype.name, (0, 0))
    if not torch.allclose(actual.to(expected.dtype), expected, rtol=rtol, atol=atol, equal_nan=equal_nan):
        raise AssertionError("Tensor-likes are not close!")


_TOLERANCES = {"float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def __getattr__(name):
    raise torch._missing("torch.testing." + name)
