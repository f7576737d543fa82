import { describe, expect, test } from 'vitest';
import { type Alert, alertRisks, unknownAlerts } from './alert-risks.ts';

const alert = (alertname: string, labels: Alert['labels'] = {}, annotations: Alert['annotations'] = {}, state = 'firing'): Alert => ({
  state,
  labels: { alertname, severity: 'warning', ...labels },
  annotations: { summary: 'Short.', description: 'Long.', runbook_url: 'https://example.com/book', ...annotations },
});
const tail = 'Short. Long. https://example.com/book';

describe('alerts that speak against updates', () => {
  test.each<{ name: string; alerts: Alert[]; want: string[] }>([
    { name: 'none', alerts: [], want: [] },
    { name: 'not one that is pending', alerts: [alert('A', { severity: 'critical' }, {}, 'pending')], want: [] },
    { name: 'not one that means nothing for updates', alerts: [alert('A')], want: [] },
    {
      name: 'a critical one',
      alerts: [alert('A', { severity: 'critical' })],
      want: [`critical alert A firing, suggesting significant cluster issues worth investigating. ${tail}`],
    },
    {
      name: 'a budget at its limit',
      alerts: [alert('PodDisruptionBudgetAtLimit')],
      want: [`warning alert PodDisruptionBudgetAtLimit firing, which might slow node drains. ${tail}`],
    },
    {
      name: 'a node that is away',
      alerts: [alert('KubeNodeUnreachable')],
      want: [`warning alert KubeNodeUnreachable firing, which may slow workload redistribution during rolling node updates. ${tail}`],
    },
    {
      name: 'one that says so',
      alerts: [alert('A', { openShiftUpdatePrecheck: 'true' })],
      want: [`warning alert A firing, suggesting issues worth investigating before updating the cluster. ${tail}`],
    },
    {
      name: 'several of one name, as one',
      alerts: [
        alert('A', { severity: 'critical' }, { description: 'Two.' }),
        alert('A', { severity: 'critical' }, { description: 'One.' }),
        alert('A', { severity: 'critical' }, { description: 'One.' }),
      ],
      want: [
        'critical alert A firing, suggesting significant cluster issues worth investigating. Short. One. https://example.com/book; critical alert A firing, suggesting significant cluster issues worth investigating. Short. Two. https://example.com/book',
      ],
    },
    {
      name: 'one that says little',
      alerts: [{ state: 'firing', labels: { alertname: 'A', severity: 'critical' }, annotations: {} }],
      want: ['critical alert A firing, suggesting significant cluster issues worth investigating.'],
    },
  ])('$name', ({ alerts, want }) => expect(alertRisks(alerts).map(({ message }) => message)).toEqual(want));

  test('say in which state they are, and where they are described', () => {
    expect(alertRisks([alert('A', { severity: 'critical' })])).toMatchObject([
      { name: 'A', reason: 'Alert:firing', url: 'https://example.com/book', isOfEvery: true },
    ]);
  });

  test('that cannot be read are a risk', () => {
    expect(unknownAlerts('no route')).toMatchObject({ name: 'AlertUnknown', message: 'Alerts of the cluster could not be read: no route' });
  });
});
