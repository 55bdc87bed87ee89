"""Packed (ragged) attention and cache updates: rows [tokens, heads, width] of all sequences, one behind the other.

Cumulative lengths [batch + 1] say where each sequence ends. Both sides become one long sequence
[1, heads, rows, width]; who may see whom follows from the number of each row's sequence and the row's place in it. Rows
behind the last sequence give zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

from trtmc.compilers.openvino.graph.graph import Node, Tensor
from trtmc.compilers.openvino.ir.model import ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering

PACKED, PADDED = "PACKED_NHD", "PADDED_BHND"


@dataclass(frozen=True)
class Rows:
    """`x` [1, heads, rows, width]; per row its sequence and place, per row the sequence's length, all int64 [rows]."""

    x: Value
    sequence: Value
    place: Value
    length: Value
    valid: Value


def packed_rows(low: Lowering, tensor: Tensor, cumulative: Tensor) -> Rows:
    """From [tokens, heads, width]."""
    o = low.ops
    x = o.unsqueeze(o.transpose(low.value(tensor), (1, 0, 2)), o.i64(0))
    return Rows(x, *sequences(low, o.dim(low.value(tensor), 0), cumulative))


def sequences(low: Lowering, count: Value, cumulative: Tensor) -> tuple[Value, Value, Value, Value]:
    """Sequence, place, length and validity of each of `count` packed rows."""
    o = low.ops
    ends = o.convert(low.value(cumulative), ElementType.I64)
    row = o.range(o.index(0), count, o.index(1))
    batch = o.subtract(o.dim(ends, 0), o.index(1))
    later = o.slice(ends, o.i64(1), o.i64(2**31 - 1), o.i64(1), o.i64(0))
    reached = o.compare("GreaterEqual", o.unsqueeze(row, o.i64(1)), o.unsqueeze(later, o.i64(0)))
    sequence = o.reduce("ReduceSum", o.convert(reached, ElementType.I64), (1,), False)
    valid = o.compare("Less", sequence, batch)
    known = o.binary("Minimum", sequence, o.subtract(batch, o.index(1)))
    start = o.gather(ends, known, 0)
    length = o.subtract(o.gather(ends, o.add(known, o.index(1)), 0), start)
    return sequence, o.subtract(row, start), length, valid


def padded_rows(low: Lowering, tensor: Tensor, lengths: Tensor | None) -> Rows:
    """From [batch, heads, rows, width]; `lengths` [batch] are the valid rows, all if absent."""
    o, value = low.ops, low.value(tensor)
    heads, width = tensor.shape[1], tensor.shape[3]
    x = o.reshape(o.transpose(value, (1, 0, 2, 3)), o.i64(1, heads, -1, width))
    batch, rows = o.dim(value, 0), o.dim(value, 2)
    row = o.range(o.index(0), o.dim(x, 2), o.index(1))
    sequence = o.divide(row, rows)
    place = o.subtract(row, o.multiply(sequence, rows))
    if lengths is None:
        length = o.broadcast(rows, o.reshape(o.multiply(batch, rows), o.i64(1)))
    else:
        length = o.gather(o.convert(low.value(lengths), ElementType.I64), sequence, 0)
    return Rows(x, sequence, place, length, o.compare("Less", place, length))


def visible(low: Lowering, queries: Rows, keys: Rows, causal: str) -> Value:
    """Bool [1, 1, queries, keys]."""
    o = low.ops

    def query(value: Value) -> Value:
        return o.unsqueeze(value, o.i64(1))

    def key(value: Value) -> Value:
        return o.unsqueeze(value, o.i64(0))

    allowed = o.compare("Equal", query(queries.sequence), key(keys.sequence))
    for valid in (query(queries.valid), key(keys.valid)):
        allowed = o.logical("LogicalAnd", allowed, valid)
    if causal != "NONE":
        last = query(queries.place)
        if causal == "LOWER_RIGHT":
            last = o.add(last, o.subtract(key(keys.length), query(queries.length)))
        allowed = o.logical("LogicalAnd", allowed, o.compare("LessEqual", key(keys.place), last))
    return o.unsqueeze(allowed, o.i64(0, 1))


def as_query(low: Lowering, y: Value, query: Tensor, form: str) -> Value:
    """[1, heads, rows, width] in the query's own form."""
    o = low.ops
    if form == PACKED:
        return o.transpose(o.squeeze(y, o.i64(0)), (1, 0, 2))
    batch = o.gather(o.shape_of(low.value(query)), o.i64(0, 2), 0)
    heads, width = o.i64(query.shape[1]), o.i64(query.shape[3])
    return o.transpose(o.reshape(y, o.concat([heads, batch, width], 0)), (1, 0, 2, 3))


def cache_rows(low: Lowering, node: Node) -> Value:
    """A cache [batch, heads, rows, width] with a packed update: every cache row looks for its row in the update."""
    o = low.ops
    cache, update, indices = (low.value(node.required(i)) for i in range(3))
    ends = o.convert(low.value(node.required(3)), ElementType.I64)
    rows = node.required(0).shape[2]
    starts = o.slice(ends, o.i64(0), o.i64(-1), o.i64(1), o.i64(0))
    counts = o.subtract(o.slice(ends, o.i64(1), o.i64(2**31 - 1), o.i64(1), o.i64(0)), starts)
    every = o.unsqueeze(o.range(o.index(0), o.index(rows), o.index(1)), o.i64(0))
    at = o.subtract(every, o.unsqueeze(o.convert(indices, ElementType.I64), o.i64(1)))  # [batch, rows]
    fresh = o.compare("Less", at, o.unsqueeze(counts, o.i64(1)))
    fresh = o.logical("LogicalAnd", o.compare("GreaterEqual", at, o.index(0)), fresh)
    source = o.add(at, o.unsqueeze(starts, o.i64(1)))
    last = o.subtract(o.dim(update, 0), o.index(1))
    picked = o.gather(update, o.binary("Minimum", o.binary("Maximum", source, o.index(0)), last), 0)
    return o.select(o.unsqueeze(fresh, o.i64(1, 3)), o.transpose(picked, (0, 2, 1, 3)), cache)
