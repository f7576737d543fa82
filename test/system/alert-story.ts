import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { ensureDebianPackages, ensureTools, MONITORING_PACKAGES } from '@flotilla/control-plane/toolchain';
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { CHARTS, NAMESPACE } from './chart-hub.ts';
import { type Chart, REQUIRED, sets } from './chart-server.ts';

const PrometheusRule = z.looseObject({
  kind: z.literal('PrometheusRule'),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.object({ groups: z.array(z.looseObject({ rules: z.array(z.looseObject({ alert: z.string() })) })) }),
});

/** The first PrometheusRule of a chart, rendered with these values. */
export async function renderedRules(chart: Chart, enabled: readonly string[]) {
  const tools = await ensureTools(['helm']);
  const values = [...REQUIRED[chart], ...enabled];
  const text = await runCommand(tools.path('helm'), [
    'template',
    chart === 'hub' ? 'hub' : 'agent',
    join(CHARTS, chart),
    '-n',
    NAMESPACE,
    ...sets(values),
  ]);
  const found = parseAllDocuments(text).flatMap((document) => PrometheusRule.safeParse(document.toJS()).data ?? []);
  return found[0] ?? expect.fail('no PrometheusRule');
}
type Rules = Awaited<ReturnType<typeof renderedRules>>;

/** What is so, sample by sample, and what comes of it. Samples are as far apart as the chart has them scraped. */
export interface AlertCase {
  readonly alert: string;
  readonly about: string;
  /** Series → its samples, as promtool writes them. */
  readonly series: Readonly<Record<string, string>>;
  /** It does not fire yet, fires with these labels, and does not fire any more. */
  readonly silentAt: string;
  readonly firesAt: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly goneAt: string;
}
const INTERVAL = '30s';

/** A value until five minutes before it is looked at for the last time, and then another. */
export const over = (minutes: number, from: number, to: number | 'stale') =>
  `${from}x${2 * minutes + 5} ${to === 'stale' ? to : `${to}x20`}`;

/** A case as promtool takes it. */
function promtoolTest({ alert: alertname, about: name, series, silentAt, firesAt, labels, goneAt }: AlertCase) {
  const expected = (eval_time: string, ...of: readonly object[]) => ({ alertname, eval_time, exp_alerts: of });
  return {
    name: `${alertname}: ${name}`,
    interval: INTERVAL,
    input_series: Object.entries(series).map(([key, values]) => ({ series: key, values })),
    alert_rule_test: [expected(silentAt), expected(firesAt, { exp_labels: labels }), expected(goneAt)],
  };
}

/** Plays the cases by promtool: the rules have these alerts in this order, and each has a case. */
export async function play({ spec: { groups } }: Rules, alerts: readonly string[], cases: readonly AlertCase[]): Promise<void> {
  await ensureDebianPackages(MONITORING_PACKAGES, console.log);
  expect(groups.flatMap(({ rules }) => rules.map(({ alert: name }) => name))).toEqual(alerts);
  expect(new Set(cases.map(({ alert }) => alert))).toEqual(new Set(alerts));
  // texts are for people
  const bare = groups.map((group) => ({ ...group, rules: group.rules.map((rule) => ({ ...rule, annotations: undefined })) }));
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-alerts-'));
  try {
    await writeFile(join(dir, 'whole.json'), JSON.stringify({ groups }));
    await writeFile(join(dir, 'rules.json'), JSON.stringify({ groups: bare }));
    const story = { rule_files: ['rules.json'], evaluation_interval: INTERVAL, tests: cases.map(promtoolTest) };
    await writeFile(join(dir, 'story.json'), JSON.stringify(story));
    await runCommand('promtool', ['check', 'rules', join(dir, 'whole.json')]);
    await runCommand('promtool', ['test', 'rules', join(dir, 'story.json')]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
