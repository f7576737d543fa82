import type { ConditionalUpdateRisk } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { type ClusterRisk, clusterVerdicts, tellRisks, withClusterRisks } from './cluster-risks.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const release = (version: string) => ({ version, image: `r@sha256:${version}` });
const ofGraph = (name: string): ConditionalUpdateRisk => ({
  name,
  message: `${name} bites.`,
  url: 'https://example.com',
  matchingRules: [{ type: 'Always' }],
  conditions: undefined,
});
const gate: ClusterRisk = { name: 'AdminAck-ack-4.20-apis', message: 'APIs go away.', url: 'https://example.com/apis' };
const alert: ClusterRisk = { name: 'Broken', message: 'It is broken.', reason: 'Alert:firing', details: 'It is broken.', isOfEvery: true };

describe('what in the cluster speaks against updates', () => {
  const told = (risks: ClusterRisk[], conditional: string[] = []) => {
    const joined = withClusterRisks(
      {
        updates: ['4.20.2', '4.21.0', '5.0.0', '4.20.0'].map(release),
        conditional: conditional.map((name) => ({ release: release('4.21.1'), risks: [ofGraph(name)] })),
      },
      risks,
      '4.20.1',
    );
    return {
      plain: joined.updates.map(({ version }) => version),
      risky: joined.conditional.map(({ release: { version }, risks: of }) => `${version}: ${of.map(({ name }) => name).join()}`),
    };
  };
  test.each([
    { name: 'nothing', given: [], plain: ['4.20.2', '4.21.0', '5.0.0', '4.20.0'], risky: ['4.21.1: Leak'] },
    {
      name: 'a gate speaks against another minor or major version',
      given: [gate],
      plain: ['4.20.2', '4.20.0'],
      risky: [`4.21.1: Leak,${gate.name}`, `4.21.0: ${gate.name}`, `5.0.0: ${gate.name}`],
    },
    {
      name: 'an alert speaks against all',
      given: [alert],
      plain: [],
      risky: ['4.21.1: Leak,Broken', '4.20.2: Broken', '4.21.0: Broken', '5.0.0: Broken', '4.20.0: Broken'],
    },
    {
      name: 'a name that no ClusterVersion can list is left out',
      given: [
        { ...gate, name: 'lowerCase' },
        { ...gate, name: 'Blank Name' },
      ],
      plain: ['4.20.2', '4.21.0', '5.0.0', '4.20.0'],
      risky: ['4.21.1: Leak'],
    },
    {
      name: 'the graph’s own word for a name counts',
      given: [{ ...gate, name: 'Leak' }],
      plain: ['4.20.2', '4.20.0'],
      risky: ['4.21.1: Leak', '4.21.0: Leak', '5.0.0: Leak'],
    },
  ])('$name', ({ given, plain, risky }) => expect(told(given, ['Leak'])).toEqual({ plain, risky }));

  test('versions that are none may be any step', () => {
    expect(withClusterRisks({ updates: [release('next')], conditional: [] }, [gate], '4.20.1').updates).toEqual([]);
  });

  test('what has no address is described in general', () => {
    const { conditional } = withClusterRisks({ updates: [release('4.21.0')], conditional: [] }, [{ ...gate, url: 'see there' }], '4.20.1');
    expect(conditional[0]?.risks[0]?.url).toMatch(/^https:\/\/docs\./);
  });
});

describe('risks tell whether they apply', () => {
  const update = { release: release('4.21.0'), risks: [ofGraph('Leak'), ofGraph('Broken')], conditions: undefined };
  const verdicts = new Map([...clusterVerdicts([alert]), ['Leak', { status: 'False', reason: 'NotMatch', message: '' }] as const]);
  const at = '2026-01-02T00:00:00Z';

  test('each once, in order', () => {
    const { conditional, risks } = tellRisks([update, update], verdicts, { listed: [], nowMs: NOW });
    expect(risks.map(({ name, conditions }) => [name, conditions])).toEqual([
      ['Broken', [{ type: 'Applies', status: 'True', reason: 'Alert:firing', message: 'It is broken.', lastTransitionTime: at }]],
      ['Leak', [{ type: 'Applies', status: 'False', reason: 'NotMatch', message: '', lastTransitionTime: at }]],
    ]);
    expect(conditional[0]?.riskNames).toEqual(['Broken', 'Leak']);
    expect(conditional[0]?.risks.map(({ conditions }) => conditions?.[0]?.status)).toEqual(['False', 'True']);
  });

  test('and since when', () => {
    const { risks } = tellRisks([update], verdicts, { listed: [], nowMs: NOW });
    expect(tellRisks([update], verdicts, { listed: risks, nowMs: NOW + 60_000 }).risks).toEqual(risks);
    const unknown = tellRisks([update], new Map(), { listed: risks, nowMs: NOW + 60_000 }).risks;
    expect(unknown.map(({ conditions }) => conditions?.[0])).toMatchObject([
      { status: 'Unknown', lastTransitionTime: '2026-01-02T00:01:00Z' },
      { status: 'Unknown', lastTransitionTime: '2026-01-02T00:01:00Z' },
    ]);
  });
});
