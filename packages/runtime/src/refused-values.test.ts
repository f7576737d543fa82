import { systemClock } from '@flotilla/pace';
import { describe, expect, test } from 'vitest';
import { ApiError, type FieldCause, RuntimeErrorCode } from './errors.ts';
import { RefusedValues } from './refused-values.ts';

const refusal = (...causes: FieldCause[]) =>
  new ApiError(RuntimeErrorCode.invalid, 'PUT', { status: 422, reason: 'Invalid', serverMessage: 'is invalid', causes });
const unsupported = (field: string): FieldCause => ({
  field,
  reason: 'FieldValueNotSupported',
  message: 'Unsupported value: supported values: ""',
});
const required = (field: string): FieldCause => ({ field, reason: 'FieldValueRequired', message: 'Required value' });

/** Learns refusals one after the other, each from what was left by those before. */
function left(status: object, refusals: readonly (readonly FieldCause[])[], options: { whole?: string[] } = {}) {
  const told: string[] = [];
  const values = new RefusedValues({ ...options, tell: ({ field }) => told.push(field) });
  for (const causes of refusals) expect(values.learn(values.without(status), refusal(...causes))).toBe(true);
  return { status: values.without(status), told };
}

const capabilities = { enabled: ['Console', 'Ingress'], known: ['Build', 'Console', 'Ingress'] };
const risks = [
  { name: 'A', url: 'https://a' },
  { name: 'B', url: '' },
];
const cases: readonly {
  readonly name: string;
  readonly status: object;
  readonly refusals: readonly (readonly FieldCause[])[];
  readonly whole?: string[];
  readonly want: object;
}[] = [
  {
    name: 'an entry of a list',
    status: { capabilities, other: 1 },
    refusals: [[unsupported('status.capabilities.known[2]')]],
    want: { capabilities: { enabled: ['Console', 'Ingress'], known: ['Build', 'Console'] }, other: 1 },
  },
  {
    name: 'several at once',
    status: { capabilities },
    refusals: [
      [
        unsupported('status.capabilities.enabled[1]'),
        unsupported('status.capabilities.known[0]'),
        unsupported('status.capabilities.known[2]'),
      ],
    ],
    want: { capabilities: { enabled: ['Console'], known: ['Console'] } },
  },
  { name: 'a field', status: { a: { b: 'x', c: 1 } }, refusals: [[unsupported('status.a.b')]], want: { a: { c: 1 } } },
  {
    name: 'an entry that lacks a field which its schema requires, once that field was left out',
    status: { updates: [{ release: 'r', risks }] },
    refusals: [
      [{ field: 'status.updates[0].risks[1].url', reason: 'FieldValueInvalid', message: 'too short' }],
      [required('status.updates[0].risks[1].url')],
    ],
    want: { updates: [{ release: 'r', risks: [{ name: 'A', url: 'https://a' }] }] },
  },
  {
    name: 'the whole of what means something else without a part of it',
    status: {
      updates: [
        { release: 'r', risks },
        { release: 's', risks: [] },
      ],
    },
    refusals: [[{ field: 'status.updates[0].risks[1].url', reason: 'FieldValueInvalid', message: 'too short' }]],
    whole: ['status.updates[]'],
    want: { updates: [{ release: 's', risks: [] }] },
  },
  {
    name: 'a key of a map that has dots in it',
    status: { labels: { 'a.b/c': 'x', a: { b: 'y' } } },
    refusals: [[unsupported('status.labels.a.b/c')]],
    want: { labels: { a: { b: 'y' } } },
  },
  {
    name: 'entries beyond the most that a list may have',
    status: { list: [1, 2, 3] },
    refusals: [[{ field: 'status.list', reason: 'FieldValueTooMany', message: 'Too many: 3: must have at most 2 items' }]],
    want: { list: [1, 2] },
  },
  {
    name: 'the end of a message for people',
    status: { conditions: [{ type: 'A', message: 'ab\u00e9cd' }] },
    refusals: [[{ field: 'status.conditions[0].message', reason: 'FieldValueTooLong', message: 'Too long: may not be more than 3 bytes' }]],
    want: { conditions: [{ type: 'A', message: 'ab' }] },
  },
  {
    name: 'all of a value that is no message: a part of it would be another value',
    status: {
      values: [
        { name: 'v', text: '{"a":1}' },
        { name: 'w', text: '1' },
      ],
    },
    refusals: [[{ field: 'status.values[0].text', reason: 'FieldValueTooLong', message: 'Too long: may not be more than 3 bytes' }]],
    want: { values: [{ name: 'v' }, { name: 'w', text: '1' }] },
  },
];

describe('leaves out', () => {
  test.each(cases)('$name', ({ status, refusals, whole, want }) => {
    expect(left(status, refusals, { whole }).status).toEqual(want);
  });

  test('the same value wherever it stands in the next status, and nothing else', () => {
    const values = new RefusedValues();
    values.learn({ known: ['Console', 'Ingress'] }, refusal(unsupported('status.known[1]')));
    expect(values.without({ known: ['Ingress', 'Build', 'Console'], enabled: ['Ingress'] })).toEqual({
      known: ['Build', 'Console'],
      enabled: ['Ingress'],
    });
  });
});

describe('a refusal', () => {
  test.each([
    { name: 'without causes', error: refusal() },
    { name: 'of the spec', error: refusal(unsupported('spec.capabilities.baseline')) },
    { name: 'of the status as a whole', error: refusal(unsupported('status')) },
    { name: 'of the object', error: refusal({ field: '<nil>', reason: 'FieldValueInvalid', message: 'a rule' }) },
    { name: 'of a field that the status requires', error: refusal(required('status.desired')) },
    {
      name: 'that is none of validation',
      error: new ApiError('FLOTILLA_API_CONFLICT', 'PUT', { status: 409, reason: 'Conflict', serverMessage: '' }),
    },
    { name: 'that is another error', error: new Error('lost') },
  ])('$name cannot be mended by leaving something out', ({ error }) => {
    expect(new RefusedValues().learn({ a: 1 }, error)).toBe(false);
  });

  test('is told once, with field and value', () => {
    const told: unknown[] = [];
    const values = new RefusedValues({ tell: (value) => told.push(value) });
    for (let times = 0; times < 2; times++) values.learn({ known: ['Ingress'] }, refusal(unsupported('status.known[0]')));
    expect(told).toEqual([{ field: 'status.known[0]', value: 'Ingress', said: 'Unsupported value: supported values: ""' }]);
  });

  test('is forgotten after a while, because definitions are updated', () => {
    let now = 0;
    const values = new RefusedValues({
      clock: { now: () => now, setTimer: (ms, fn) => systemClock.setTimer(ms, fn) },
      forgetAfterMs: 1_000,
    });
    values.learn({ known: ['Ingress'] }, refusal(unsupported('status.known[0]')));
    expect(values.without({ known: ['Ingress'] })).toEqual({ known: [] });
    now = 1_001;
    expect(values.without({ known: ['Ingress'] })).toEqual({ known: ['Ingress'] });
  });
});

test('however many values of one status are refused, it is without them in the end', () => {
  const status = { list: Array.from({ length: 300 }, (_, index) => ({ name: `n${index}`, kind: `k${index}` })), other: 1 };
  const values = new RefusedValues();
  const refused = () => {
    const { list = [] } = values.without(status) as { list?: { kind?: string }[] };
    return list.flatMap(({ kind }, index) => (kind === undefined ? [] : [{ list, cause: unsupported(`status.list[${index}].kind`) }]));
  };
  for (let tries = 0; tries < 3 && refused().length > 0; tries += 1) {
    const all = refused();
    values.learn({ list: all[0]?.list }, refusal(...all.map(({ cause }) => cause)));
  }
  expect(refused()).toEqual([]);
  expect(values.without(status)).toMatchObject({ other: 1, list: expect.arrayContaining([{ name: 'n299' }]) });
});
