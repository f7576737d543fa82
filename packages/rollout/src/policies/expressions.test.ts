import { measure } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { withoutExpressions, withoutPlainExpressions } from './expressions.ts';

test.each([
  { name: 'a variable', text: 'a {{ $x }} b', want: 'a placeholder b' },
  { name: 'a field, with trim markers', text: '{{- .Values.a -}}', want: 'placeholder' },
  { name: 'a call', text: 'a {{ lookup "v1" }}b', want: 'a b' },
  { name: 'an assignment', text: '{{ $x := 1 }}a', want: 'a' },
  { name: 'an expression with a brace in it', text: 'a {{ "}" }} {{ $x }}', want: 'a {{ "}" }} placeholder' },
  { name: 'an expression that never ends', text: 'a {{ $x', want: 'a {{ $x' },
])('of $name is left what the reference leaves', ({ text, want }) => expect(withoutPlainExpressions(text)).toBe(want));

test.each([
  { name: 'a variable', text: 'a {{ $x }} b', want: 'a placeholder b' },
  { name: 'a call', text: 'a {{ lookup "v1" }}b', want: 'a b' },
  { name: 'a brace in quotes', text: 'a {{ "}}" }}b {{ $x }}', want: 'a b placeholder' },
  { name: 'an escaped quote', text: 'a {{ printf "\\"}}" }}b', want: 'a b' },
  { name: 'a brace in backquotes', text: 'a {{ `}}` }}b', want: 'a b' },
  { name: 'a rune', text: "a {{ eq .c '}' }}b", want: 'a b' },
  { name: 'a comment with an expression in it', text: 'a {{- /* {{ $x }} "*/ -}}b', want: 'a b' },
  { name: "an expression of the hub's", text: 'a: {{hub .ManagedClusterName hub}}', want: 'a: placeholder' },
  {
    name: "the hub's within the cluster's",
    text: '{{ if not (has .name (list {{hub range (list "a" "b") hub}}"{{hub . hub}}" {{hub end hub}})) }}\na: {{ .name }}',
    want: '\na: placeholder',
  },
  { name: "the cluster's within the hub's text", text: '{{hub print "{{ $x }}" hub}}b', want: 'b' },
  { name: 'an expression that never ends', text: 'a {{ $x', want: 'a {{ $x' },
  { name: 'a quote that never ends', text: 'a {{ "x }} b', want: 'a {{ "x }} b' },
])('of $name is left what the resolver would leave room for', ({ text, want }) => expect(withoutExpressions(text)).toBe(want));

test('expressions are taken out of a hostile text in linear time', async () => {
  const texts = [
    '{{ "a'.repeat(150_000),
    '{{ `'.repeat(150_000),
    '{{hub '.repeat(100_000),
    '{{/* '.repeat(100_000),
    '{'.repeat(500_000),
    `${'{{ '.repeat(150_000)}}`,
    '{{ $x }'.repeat(70_000),
  ];
  const lengths: number[] = [];
  const { pauseMs } = await measure(() =>
    lengths.push(...texts.flatMap((text) => [withoutExpressions(text).length, withoutPlainExpressions(text).length])),
  );
  expect(lengths).toHaveLength(texts.length * 2);
  expect(pauseMs).toBeLessThan(1_000);
});
