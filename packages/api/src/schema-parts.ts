/** Parts of the written-out schemas of other projects' kinds. */
export const text = { type: 'string' };
export const texts = { type: 'array', items: text };
export const flag = { type: 'boolean' };
export const int32 = { type: 'integer', format: 'int32' };
export const int64 = { type: 'integer', format: 'int64' };

/** Any object, kept unchanged. */
export const anyObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** Any Kubernetes object: the server requires its `apiVersion` and `kind`. */
export const embedded = { ...anyObject, 'x-kubernetes-embedded-resource': true };

/** A string with a fixed set of values. */
export const choice = (...values: readonly string[]) => ({ ...text, enum: values });

/** An object with only these fields. */
export const object = (properties: Record<string, unknown>, required?: readonly string[]) => ({
  type: 'object',
  properties,
  ...(required && { required }),
});

/** An array of these items. */
export const list = (items: unknown) => ({ type: 'array', items });

/** A list of at most `maxItems` entries. */
export const listUpTo = (maxItems: number, items: unknown) => ({ ...list(items), maxItems });

/** A text of at most `maxLength` characters. */
export const textUpTo = (maxLength: number) => ({ ...text, maxLength });

/** A CEL rule about the whole value. */
export const rule = (expression: string, message: string) => ({ 'x-kubernetes-validations': [{ rule: expression, message }] });

/** metav1.Condition, as servers check it. */
export const condition = object(
  {
    type: { ...text, maxLength: 316 },
    status: choice('True', 'False', 'Unknown'),
    reason: { ...text, minLength: 1, maxLength: 1024, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' },
    message: { ...text, maxLength: 32768 },
    lastTransitionTime: { ...text, format: 'date-time' },
    observedGeneration: { ...int64, minimum: 0 },
  },
  ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
);

/** metav1.LabelSelector. */
export const labelSelector = object({
  matchLabels: { type: 'object', additionalProperties: text },
  matchExpressions: list(object({ key: text, operator: text, values: texts }, ['key', 'operator'])),
});
