import type { EventToRecord } from '@flotilla/api/core';
import { describe, expect, test } from 'vitest';
import { cutText, eventObject, fitAnnotations } from './event-recorder-object.ts';

const regarding = {
  apiVersion: 'ran.openshift.io/v1alpha1',
  kind: 'ClusterGroupUpgrade',
  namespace: 'default',
  name: 'cgu',
  uid: 'u1',
  resourceVersion: '7',
};
const event: EventToRecord = { type: 'Normal', reason: 'CguCreated', action: 'Building', note: 'New', regarding };
const origin = { controller: 'C', instance: 'host', atMicros: Date.parse('2026-01-02T03:04:05.678Z') * 1000 + 9, suffix: 'abcd1234' };

describe('an event', () => {
  test('says who, what, when and about which object', () => {
    const related = { apiVersion: 'v1', kind: 'Node', name: 'n' };
    expect(eventObject({ ...event, related, annotations: { 'x/type': 'global' } }, origin)).toEqual({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'cgu-abcd1234', generateName: 'cgu-', namespace: 'default', annotations: { 'x/type': 'global' } },
      eventTime: '2026-01-02T03:04:05.678009Z',
      type: 'Normal',
      reason: 'CguCreated',
      action: 'Building',
      note: 'New',
      reportingController: 'C',
      reportingInstance: 'host',
      regarding,
      related,
    });
  });

  test('about a cluster-scoped object lives in the default namespace', () => {
    const { namespace: _, ...clusterScoped } = regarding;
    expect(eventObject({ ...event, regarding: clusterScoped }, origin).metadata.namespace).toBe('default');
  });

  test.each([
    { name: 'a'.repeat(253), base: 'a'.repeat(244) },
    { name: `${'a'.repeat(243)}.${'b'.repeat(9)}`, base: 'a'.repeat(243) },
  ])('about an object with a long name keeps a valid one', ({ name, base }) => {
    const { metadata } = eventObject({ ...event, regarding: { ...regarding, name } }, origin);
    expect(metadata).toMatchObject({ name: `${base}-abcd1234`, generateName: `${base}-` });
    expect(metadata.name.length).toBeLessThanOrEqual(253);
  });
});

describe('a text of at most so many bytes', () => {
  test.each([
    { name: 'is kept when it fits exactly', text: 'abcd', limit: 4, want: 'abcd' },
    { name: 'is cut at the limit', text: 'abcde', limit: 4, want: 'abcd' },
    { name: 'loses a character of two bytes whole', text: 'abcä', limit: 4, want: 'abc' },
    { name: 'keeps a character that ends at the limit', text: 'abäc', limit: 4, want: 'abä' },
    { name: 'loses a character of four bytes whole', text: 'a😀b', limit: 4, want: 'a' },
    { name: 'may become empty', text: '😀', limit: 3, want: '' },
  ])('$name', ({ text, limit, want }) => expect(cutText(text, limit)).toBe(want));

  test('a note has 1024', () => {
    const { note } = eventObject({ ...event, note: `${'x'.repeat(1023)}ää` }, origin);
    expect(note).toBe('x'.repeat(1023));
  });
});

describe('annotations of at most so many bytes', () => {
  // 'p/list' and 'p/truncated' with its value take 6 + 11 + 6 bytes.
  const overhead = 23;
  test.each<{ name: string; given: Record<string, string>; limit: number; want: Record<string, string> }>([
    { name: 'are kept when they fit exactly', given: { 'p/list': 'a,b,c' }, limit: 11, want: { 'p/list': 'a,b,c' } },
    {
      name: 'lose the items that do not fit whole',
      given: { 'p/list': 'aaaa,bbbb,cccc,dddd,eeee,ffff,gggg,hhhh' },
      limit: overhead + 12,
      want: { 'p/list': 'aaaa,bbbb', 'p/truncated': 'p/list' },
    },
    {
      name: 'keep an item that ends at the limit',
      given: { 'p/list': 'aaaa,bbbb,cccc,dddd,eeee,ffff,gggg,hhhh' },
      limit: overhead + 14,
      want: { 'p/list': 'aaaa,bbbb,cccc', 'p/truncated': 'p/list' },
    },
    {
      name: 'lose all items of a list rather than part of one',
      given: { 'p/list': 'aaaaaaaaaaaaaaaaaa,bbbbbbbb' },
      limit: overhead + 5,
      want: { 'p/list': '', 'p/truncated': 'p/list' },
    },
    {
      name: 'lose the end of a text that is no list',
      given: { 'p/list': 'a text that is a little longer than allowed' },
      limit: overhead + 6,
      want: { 'p/list': 'a text', 'p/truncated': 'p/list' },
    },
    {
      name: 'are cut longest first, the others stay',
      given: { 'p/kind': 'batch', 'p/list': 'aaaa,bbbb,cccc,dddd,eeee,ffff' },
      limit: overhead + 11 + 4,
      want: { 'p/kind': 'batch', 'p/list': 'aaaa', 'p/truncated': 'p/list' },
    },
    {
      name: 'are cut one after the other when one is not enough',
      given: { 'p/a': 'aaaa,bbbb,cccc,dddd,eeee', 'p/b': 'ffff,gggg,hhhh,iiii' },
      limit: 6 + 11 + 7 + 9,
      want: { 'p/a': '', 'p/b': 'ffff,gggg', 'p/truncated': 'p/a,p/b' },
    },
  ])('$name', ({ given, limit, want }) => expect(fitAnnotations(given, limit)).toEqual(want));

  test('5 000 long names fit into an event', () => {
    const clusters = Array.from({ length: 5_000 }, (_, i) => `${'spoke'.repeat(12)}-${i}`);
    const annotations = { 'cgu.openshift.io/batch-clusters': clusters.join(','), 'cgu.openshift.io/batch-clusters-count': '5000' };
    const { metadata } = eventObject({ ...event, annotations }, origin);
    const kept = metadata.annotations?.['cgu.openshift.io/batch-clusters']?.split(',') ?? [];
    expect(kept.length).toBeGreaterThan(3_000);
    expect(kept).toEqual(clusters.slice(0, kept.length));
    expect(metadata.annotations).toMatchObject({
      'cgu.openshift.io/truncated': 'cgu.openshift.io/batch-clusters',
      'cgu.openshift.io/batch-clusters-count': '5000',
    });
    const size = Object.entries(metadata.annotations ?? {}).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
    expect(size).toBeLessThanOrEqual(256 * 1024);
  });
});
