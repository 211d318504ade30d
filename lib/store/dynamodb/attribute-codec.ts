import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { SluiceError } from '../../errors.ts';

/** Both directions of one attribute. `path` names it in an error, which never holds what was stored. */
export interface AttributeCodec<T> {
  encode(value: T): AttributeValue;
  /** `undefined`: the attribute is not there. */
  decode(value: AttributeValue | undefined, path: string): T;
}

export type Attributes = Record<string, AttributeValue>;

export const text: AttributeCodec<string> = {
  encode: (value) => ({ S: value }),
  decode: (value, path) => value?.S ?? unreadable(path, 'text', value),
};

/** Text of no fixed length that only people read: cut off rather than let an item grow past what can be stored. */
export function clippedText(most: number): AttributeCodec<string> {
  return {
    encode: (value) => text.encode(value.length <= most ? value : `${value.slice(0, most).toWellFormed()}…`),
    decode: text.decode,
  };
}

/** 64 bits and more, exact: decimal digits in text. */
export const bigintText: AttributeCodec<bigint> = {
  encode: (value) => ({ S: value.toString() }),
  decode(value, path) {
    const digits = value?.S;
    return digits !== undefined && /^-?\d+$/.test(digits) ? BigInt(digits) : unreadable(path, 'digits in text', value);
  },
};

export const number: AttributeCodec<number> = {
  encode: (value) => ({ N: String(value) }),
  decode: (value, path) => (value?.N === undefined ? unreadable(path, 'a number', value) : Number(value.N)),
};

export const boolean: AttributeCodec<boolean> = {
  encode: (value) => ({ BOOL: value }),
  decode: (value, path) => value?.BOOL ?? unreadable(path, 'a boolean', value),
};

export function oneOf<const T extends string>(...values: readonly T[]): AttributeCodec<T> {
  return {
    encode: (value) => ({ S: value }),
    decode: (value, path) =>
      values.find((known) => known === value?.S) ?? unreadable(path, `one of ${values.join(', ')}`, value),
  };
}

/** A codec of a narrower type that the stored value is trusted to have, such as a branded bigint. */
export function branded<T extends B, B>(codec: AttributeCodec<B>): AttributeCodec<T> {
  return { encode: (value) => codec.encode(value), decode: (value, path) => codec.decode(value, path) as T };
}

export function nullable<T>(codec: AttributeCodec<T>): AttributeCodec<T | null> {
  return {
    encode: (value) => (value === null ? { NULL: true } : codec.encode(value)),
    decode: (value, path) => (value?.NULL === true ? null : codec.decode(value, path)),
  };
}

/** For an attribute that items written by an earlier release do not have. */
export function withDefault<T>(codec: AttributeCodec<T>, absent: T): AttributeCodec<T> {
  return {
    encode: (value) => codec.encode(value),
    decode: (value, path) => (value === undefined ? absent : codec.decode(value, path)),
  };
}

export function list<T>(codec: AttributeCodec<T>): AttributeCodec<readonly T[]> {
  return {
    encode: (values) => ({ L: values.map((value) => codec.encode(value)) }),
    decode: (value, path) =>
      value?.L?.map((element, i) => codec.decode(element, `${path}[${i}]`)) ?? unreadable(path, 'a list', value),
  };
}

export type Fields<T> = { readonly [K in keyof T]-?: AttributeCodec<T[K]> };

/** Every property of `T` is named, or this does not compile. Attributes that are not named here are passed over. */
export interface RecordCodec<T> extends AttributeCodec<T> {
  encodeFields(value: T): Attributes;
  decodeFields(attributes: Attributes, path: string): T;
}

export function record<T extends object>(fields: Fields<T>): RecordCodec<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  const codec: RecordCodec<T> = {
    encodeFields: (value) => Object.fromEntries(names.map((name) => [name, fields[name].encode(value[name])])),
    decodeFields(attributes, path) {
      const decoded = names.map((name) => [name, fields[name].decode(attributes[name], `${path}.${name}`)]);
      return Object.fromEntries(decoded) as T;
    },
    encode: (value) => ({ M: codec.encodeFields(value) }),
    decode: (value, path) => (value?.M ? codec.decodeFields(value.M, path) : unreadable(path, 'a map', value)),
  };
  return codec;
}

/** One record for each `kind`. */
export function taggedUnion<T extends { readonly kind: string }>(
  variants: {
    readonly [K in T['kind']]: RecordCodec<Omit<Extract<T, { kind: K }>, 'kind'>>;
  },
): AttributeCodec<T> {
  type Kind = T['kind'];
  const kinds = Object.keys(variants) as Kind[];
  const kindCodec = oneOf(...kinds);
  const variantOf = (kind: Kind) => variants[kind] as unknown as RecordCodec<object>;
  return {
    encode: (value) => ({ M: { kind: kindCodec.encode(value.kind), ...variantOf(value.kind).encodeFields(value) } }),
    decode(value, path) {
      const attributes = value?.M ?? unreadable(path, 'a map', value);
      const kind = kindCodec.decode(attributes.kind, `${path}.kind`);
      return { kind, ...variantOf(kind).decodeFields(attributes, path) } as unknown as T;
    },
  };
}

function unreadable(path: string, expected: string, value: AttributeValue | undefined): never {
  const found = value === undefined ? 'nothing' : `type ${Object.keys(value).join()}`;
  throw new SluiceError(
    'internal',
    `stored item ${path}: expected ${expected}, found ${found}; it was written by another release or by hand`,
  );
}
