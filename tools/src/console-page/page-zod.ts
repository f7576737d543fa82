/**
 * zod as the console's page has it: the schemas of zod/mini, which carry no methods that nobody calls, and on them those methods by which schemas of
 * `@flotilla/api/answers` are made. The build puts it in the place of `zod`.
 */
import * as mini from 'zod/mini';

// biome-ignore lint/performance/noReExportAll: the bundler takes of it what schemas name
export * as z from 'zod/mini';
export { config } from 'zod/mini';

type Schema = mini.ZodMiniType<never, never>;
type AnyObject = mini.ZodMiniObject;

const isNumber = ({ type }: Schema): boolean => type === 'number';

Object.assign(Reflect.get(mini.ZodMiniType, 'prototype'), {
  optional(this: Schema) {
    return mini.optional(this);
  },
  nullable(this: Schema) {
    return mini.nullable(this);
  },
  default(this: Schema, value: never) {
    return mini._default(this, value);
  },
  unwrap(this: mini.ZodMiniOptional | mini.ZodMiniNullable) {
    return this._zod.def.innerType;
  },
  /** Descriptions become documentation; the page has none. */
  describe(this: Schema) {
    return this;
  },
  /** So do formats and bounds of a CRD. */
  meta(this: Schema) {
    return this;
  },
  regex(this: Schema, pattern: RegExp, error?: string) {
    return this.check(mini.regex(pattern, error));
  },
  and(this: Schema, other: Schema) {
    return mini.intersection(this, other);
  },
  min(this: Schema, least: number) {
    return this.check(isNumber(this) ? mini.gte(least) : mini.minLength(least));
  },
  max(this: Schema, most: number) {
    return this.check(isNumber(this) ? mini.lte(most) : mini.maxLength(most));
  },
  keyof: viaFirst(mini.keyof),
  extend: viaFirst(mini.extend),
  omit: viaFirst(mini.omit),
  pick: viaFirst(mini.pick),
  partial: viaFirst(mini.partial),
});

Object.defineProperty(Reflect.get(mini.ZodMiniArray, 'prototype'), 'element', {
  get(this: mini.ZodMiniArray) {
    return this._zod.def.element;
  },
});

/** A method that is a function of the object it belongs to. */
function viaFirst<Rest extends unknown[]>(of: (object: AnyObject, ...rest: Rest) => unknown) {
  return function method(this: AnyObject, ...rest: Rest): unknown {
    return of(this, ...rest);
  };
}
