// Handful: tensors of a few hundred numbers, with gradients, by the names that PyTorch has for them. See README.md.

import { Stream, random } from "./chance.js";
import { backward, record } from "./gradients.js";
import { float, whole } from "./making.js";
import { TorchError, fail, finfo } from "./numbers.js";
import { call, op, ops } from "./table.js";
import { axis, broadcast, filled, fromValues, room, values } from "./tensor.js";

export const handful = {
  Stream,
  TorchError,
  axis,
  backward,
  broadcast,
  call,
  fail,
  filled,
  finfo,
  float,
  fromValues,
  op,
  ops,
  random,
  record,
  room,
  values,
  whole,
};
