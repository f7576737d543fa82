import { describe, expect, test } from 'vitest';
import { leaveIgnored, refusalOfIgnored } from './ignored-fields.ts';

type Json = Record<string, unknown>;
const HASH = 'open-cluster-management.io/config-spec-hash';
const PRESENT = 'OnSpokePresent';
const rule = (...jsonPaths: string[]) => [{ condition: PRESENT, jsonPaths }];

const live = (spec: Json, owned: Json, others: Json = {}): Json => ({
  metadata: {
    managedFields: [
      { manager: 'other', operation: 'Apply', fieldsV1: { 'f:spec': others } },
      { manager: 'work-agent', operation: 'Update', fieldsV1: { 'f:spec': others } },
      { manager: 'work-agent', operation: 'Apply', fieldsV1: { 'f:spec': owned } },
    ],
  },
  spec,
});
const applied = (spec: Json, there: Json | undefined, ...paths: string[]) =>
  leaveIgnored({ kind: 'Thing', spec }, there, rule(...paths), 'work-agent').spec;

test('where the object is missing, it is made with every field', () => {
  expect(applied({ replicas: 3 }, undefined, '.spec.replicas')).toEqual({ replicas: 3 });
});

describe('where the object is there', () => {
  const leaf = {};
  test.each([
    { name: 'a field of ours stays as it is', there: live({ replicas: 3 }, { 'f:replicas': leaf }), kept: { replicas: 3, paused: true } },
    { name: 'one that others set is not ours to apply', there: live({ replicas: 5 }, {}, { 'f:replicas': leaf }), kept: { paused: true } },
    { name: 'one that somebody removed does not come back', there: live({}, { 'f:replicas': leaf }), kept: { paused: true } },
  ])('$name', ({ there, kept }) => expect(applied({ replicas: 4, paused: true }, there, '.spec.replicas')).toEqual(kept));

  test('of a whole map only our own keys stay', () => {
    const there = live({ data: { ours: 1, theirs: 2 } }, { 'f:data': { '.': leaf, 'f:ours': leaf } }, { 'f:data': { 'f:theirs': leaf } });
    expect(applied({ data: { ours: 7, new: 8 } }, there, '.spec.data')).toEqual({ data: { ours: 1 } });
  });

  test('entries of a list are found by the keys that the server has, wherever they stand', () => {
    const ports = [
      { name: 'theirs', port: 1, protocol: 'TCP', nodePort: 11 },
      { name: 'ours', port: 2, protocol: 'TCP', nodePort: 22 },
    ];
    const owned = { 'k:{"port":2,"protocol":"TCP"}': { '.': leaf, 'f:port': leaf, 'f:nodePort': leaf } };
    const wanted = {
      ports: [
        { port: 2, nodePort: 5, name: 'ours' },
        { port: 3, nodePort: 6 },
      ],
    };
    expect(applied(wanted, live({ ports }, { 'f:ports': owned }), '.spec.ports[*].nodePort')).toEqual({
      ports: [{ port: 2, nodePort: 22, name: 'ours' }, { port: 3 }],
    });
  });

  test('of a list that is ignored whole our own entries stay', () => {
    const there = live(
      { args: ['a', 'b'], ports: [{ port: 1 }, { port: 2, name: 'x' }] },
      { 'f:args': { 'v:"b"': leaf }, 'f:ports': { 'k:{"port":2}': { '.': leaf, 'f:port': leaf } } },
    );
    expect(applied({ args: [], ports: [] }, there, '.spec.args', '.spec.ports')).toEqual({ args: ['b'], ports: [{ port: 2 }] });
  });

  test('a field that is ignored for changes of the spoke is applied again when the manifest changes elsewhere, or there alone', () => {
    const rules = [{ condition: 'OnSpokeChange', jsonPaths: ['.spec.replicas'] }, { jsonPaths: ['.spec.paused'] }];
    const made = leaveIgnored({ spec: { replicas: 3, paused: false } }, undefined, rules, 'work-agent');
    const there = { ...live({ replicas: 5, paused: true }, {}), metadata: made.metadata };
    const specOf = (spec: Json) => leaveIgnored({ spec }, there, rules, 'work-agent').spec;
    expect(specOf({ replicas: 3, paused: false })).toEqual({});
    // what is always ignored changes nothing
    expect(specOf({ replicas: 3, paused: true })).toEqual({});
    expect(specOf({ replicas: 4, paused: false })).toEqual({ replicas: 4 });
    expect(specOf({ replicas: 3, paused: false, image: 'new' })).toEqual({ replicas: 3, image: 'new' });
  });

  test('the digest stays although all annotations are ignored', () => {
    const manifest = { metadata: { name: 'a', annotations: { a: '1' } } };
    const { metadata } = leaveIgnored(manifest, live({}, {}), rule('.metadata.annotations'), 'work-agent');
    expect(metadata).toEqual({ name: 'a', annotations: { [HASH]: expect.any(String) } });
  });
});

test.each([
  { name: 'strategy Update', type: 'Update', ignored: rule('.spec.replicas'), says: 'are for updateStrategy.type ServerSideApply' },
  { name: 'a condition', ignored: [{ condition: 'Always', jsonPaths: ['.a'] }], says: 'condition "Always" is unknown' },
  { name: 'a path that is none', ignored: rule('spec.replicas'), says: 'expected "." or "["' },
  { name: 'a path to entries of a list', ignored: rule('.spec.ports[0]'), says: 'end it with the name of a field' },
  { name: 'nothing to ignore', type: 'Update', ignored: [], says: undefined },
  { name: 'what is understood', ignored: rule('.spec.ports[0].nodePort'), says: undefined },
])('$name is refused, or is not: $says', ({ type = 'ServerSideApply', ignored, says }) => {
  const refusal = refusalOfIgnored({ type, serverSideApply: { ignoreFields: ignored } });
  if (says === undefined) expect(refusal).toBeUndefined();
  else expect(refusal).toContain(says);
});
