// Handful: tensors of a few hundred numbers, with gradients, by the names that PyTorch has for them. See README.md.

import { Stream } from "./chance.js";
import { backward, record } from "./gradients.js";
import { float, whole } from "./making.js";
import { TorchError, finfo } from "./numbers.js";
import { call, ops } from "./table.js";
import { filled, fromValues, room, values } from "./tensor.js";

export default {
  Stream,
  TorchError,
  backward,
  call,
  filled,
  finfo,
  float,
  fromValues,
  ops,
  record,
  room,
  values,
  whole,
};
