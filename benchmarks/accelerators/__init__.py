"""What XLA's compilers for accelerators make of azo's programs, without an accelerator.

Read `targets` first, which describes the devices, then `programs`, which are compiled for them,
`hlo`, which reads the compiled text, and `cost`, the model that turns it into time. `check` fails
where small programs have grown.
"""
