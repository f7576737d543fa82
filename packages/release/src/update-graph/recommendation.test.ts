import type { ConditionalUpdateRisk } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { type Exposure, evaluateRisk, type RiskVerdict } from './promql-answers.ts';
import { listUpdates, recommendationOf } from './recommendation.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const risk = (name: string, queries: readonly string[] = ['up']): ConditionalUpdateRisk => ({
  name,
  message: `${name} bites.`,
  url: `https://example.com/${name}`,
  matchingRules: queries.map((promql) => (promql === 'Always' ? { type: 'Always' } : { type: 'PromQL', promql: { promql } })),
  conditions: undefined,
});
const applies: RiskVerdict = { status: 'True', reason: 'Match', message: '' };
const appliesNot: RiskVerdict = { status: 'False', reason: 'NotMatch', message: '' };
const unknown: RiskVerdict = { status: 'Unknown', reason: 'EvaluationFailed', message: 'Could not evaluate' };

describe('evaluateRisk', () => {
  const answers: Record<string, Exposure> = {
    yes: { matches: true },
    no: { matches: false },
    broken: { error: 'no route' },
    late: { error: 'throttled' },
  };
  const answer = (query: string): Exposure => answers[query] ?? { error: 'unknown query' };
  test.each([
    { name: 'Always applies', rules: ['Always'], want: applies },
    { name: 'a query that says yes', rules: ['yes'], want: applies },
    { name: 'a query that says no decides before a later rule', rules: ['no', 'Always'], want: appliesNot },
    { name: 'a query that fails leaves it to the next', rules: ['broken', 'yes'], want: applies },
    {
      name: 'a query that fails',
      rules: ['broken'],
      want: {
        status: 'Unknown',
        reason: 'EvaluationFailed',
        message: 'Could not evaluate exposure to update risk R (no route)\n  R description: R bites.\n  R URL: https://example.com/R',
      },
    },
    {
      name: 'queries that all fail',
      rules: ['broken', 'late'],
      want: {
        status: 'Unknown',
        reason: 'EvaluationFailed',
        message:
          'Could not evaluate exposure to update risk R ([no route, throttled])\n  R description: R bites.\n  R URL: https://example.com/R',
      },
    },
  ])('$name', ({ rules, want }) => expect(evaluateRisk(risk('R', rules), answer)).toEqual(want));
});

describe('recommendationOf', () => {
  const fold = (verdicts: Record<string, RiskVerdict | undefined>, accepted: string[] = []) =>
    recommendationOf(
      Object.keys(verdicts).map((name) => risk(name)),
      {
        verdicts: new Map(Object.entries(verdicts).flatMap(([name, verdict]) => (verdict ? [[name, verdict] as const] : []))),
        accepted: new Set(accepted),
      },
    );

  test.each([
    {
      name: 'no risk applies',
      found: fold({ A: appliesNot, B: appliesNot }),
      want: 'True NotExposedToRisks The update is recommended, because none of the conditional update risks apply to this cluster.',
    },
    { name: 'one applies', found: fold({ A: appliesNot, B: applies }), want: 'False B B bites. https://example.com/B' },
    {
      name: 'one applies whose name is no reason',
      found: fold({ 'A-1': applies }),
      want: 'False ExposedToRisks A-1 bites. https://example.com/A-1',
    },
    {
      name: 'two apply',
      found: fold({ A: applies, B: applies }),
      want: 'False MultipleReasons A bites. https://example.com/A\n\nB bites. https://example.com/B',
    },
    { name: 'nobody knows', found: fold({ A: unknown }), want: 'Unknown EvaluationFailed Could not evaluate' },
    {
      name: 'nobody knows of two',
      found: fold({ A: unknown, B: unknown }),
      want: 'Unknown EvaluationFailed Could not evaluate\n\nCould not evaluate',
    },
    {
      name: 'one applies and nobody knows of another',
      found: fold({ A: unknown, B: applies }),
      want: 'False MultipleReasons Could not evaluate\n\nB bites. https://example.com/B',
    },
    {
      name: 'those that apply are accepted',
      found: fold({ A: applies, B: appliesNot }, ['A']),
      want: 'True AllExposedRisksAccepted The update is recommended, because either risk does not apply to this cluster or it is accepted by cluster admins.',
    },
    {
      name: 'one of those that apply is accepted',
      found: fold({ A: applies, B: applies }, ['A']),
      want: 'False B B bites. https://example.com/B',
    },
    {
      name: 'one was never evaluated',
      found: fold({ A: undefined }),
      want: 'Unknown InternalErrorFoundNoRiskCondition The risk A has not been evaluated.',
    },
  ])('$name', ({ found: { status, reason, message }, want }) => expect(`${status} ${reason} ${message}`).toBe(want));
});

describe('listUpdates', () => {
  const release = (version: string) => ({ version, image: `r@${version}` });
  const list = (verdict: RiskVerdict, more: Partial<Parameters<typeof listUpdates>[0]> = {}) =>
    listUpdates({
      updates: [release('4.20.2'), release('4.20.10'), release('4.20.9')],
      conditional: [
        { release: release('4.20.5'), risks: [risk('A')] },
        { release: release('4.21.0'), risks: [risk('B')] },
      ],
      verdicts: new Map([
        ['A', verdict],
        ['B', applies],
      ]),
      accepted: new Set<string>(),
      listed: [],
      nowMs: NOW,
      ...more,
    });
  const versions = (releases: readonly { version: string }[] | null) => releases?.map(({ version }) => version);

  test('the newest first; one under conditions is available while it is recommended', () => {
    const { available, conditional } = list(appliesNot);
    expect(versions(available)).toEqual(['4.20.10', '4.20.9', '4.20.5', '4.20.2']);
    expect(conditional.map(({ release: { version }, conditions }) => `${version} ${conditions?.[0]?.status}`)).toEqual([
      '4.21.0 False',
      '4.20.5 True',
    ]);
    expect(versions(list(applies).available)).toEqual(['4.20.10', '4.20.9', '4.20.2']);
    expect(versions(list(unknown).available)).toEqual(['4.20.10', '4.20.9', '4.20.2']);
  });

  test('no more than a ClusterVersion has room for, the newest of them', () => {
    const many = Array.from({ length: 700 }, (_, patch) => release(`4.20.${patch}`));
    const { available } = list(applies, { updates: many });
    expect([available?.length, available?.[0]?.version]).toEqual([500, '4.20.699']);
    const large = Array.from({ length: 400 }, (_, index) => ({ ...risk(`R${index}`), message: 'x'.repeat(16_000) }));
    const conditional = Array.from({ length: 40 }, (_, patch) => ({
      release: release(`4.20.${patch}`),
      risks: large.slice(patch * 5, patch * 5 + 1),
    }));
    const verdicts = new Map(large.map(({ name }) => [name, applies] as const));
    const { conditional: listed } = list(applies, { conditional, verdicts });
    expect(JSON.stringify(listed).length).toBeLessThan(262_144 + 100);
    expect(listed[0]?.release.version).toBe('4.20.39');
    expect(listed.length).toBeGreaterThan(5);
  });

  test('a message is no longer than servers take', () => {
    const long = ['A', 'B', 'C'].map((name) => ({ ...risk(name), message: 'x'.repeat(16_000) }));
    const { message } = recommendationOf(long, { verdicts: new Map(long.map(({ name }) => [name, applies])), accepted: new Set() });
    expect(message).toHaveLength(32_768);
  });

  test('none at all are null', () => expect(list(applies, { updates: [] }).available).toBeNull());

  test('a time moves with the status alone', () => {
    const { conditional: listed } = list(unknown, { nowMs: NOW - 3_600_000 });
    const times = (verdict: RiskVerdict) =>
      list(verdict, { listed }).conditional.map(({ conditions }) => conditions?.[0]?.lastTransitionTime);
    expect(times(unknown)).toEqual(['2026-01-01T23:00:00Z', '2026-01-01T23:00:00Z']);
    expect(times(applies)).toEqual(['2026-01-01T23:00:00Z', '2026-01-02T00:00:00Z']);
  });
});
