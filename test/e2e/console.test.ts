/** One upgrade of whole clusters, seen and steered by somebody who has the console alone. Its pictures are for people: a folder for them turns it on. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { conditionTime } from '@flotilla/api';
import { clusterObstacle } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { startPrecacheFleet } from '../fixtures/precache-fleet.ts';
import { applyExamples, EXAMPLE_UPGRADE, HUB_EXAMPLES } from '../support/examples.ts';
import { imagePlaceholders, startWorkloads, WORKLOADS, workloadImages } from '../support/workloads.ts';
import { look, startBrowser } from '../system/console/browser.ts';
import { startConsole } from '../system/console/console.ts';

const folder = process.env.FLOTILLA_PICTURES;
const obstacle = folder === undefined ? 'FLOTILLA_PICTURES names no folder for pictures of the console' : clusterObstacle();

const HOUR_MS = 3_600_000;
const KEY = `${EXAMPLE_UPGRADE.namespace}/${EXAMPLE_UPGRADE.name}`;

/** A site that does not let workloads be changed. */
const FROZEN = (name: string) => [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['deployments'] }],
      },
      matchConditions: [{ name: 'workloads', expression: `object.metadata.namespace == '${WORKLOADS}'` }],
      validations: [
        {
          expression: 'object.spec.template == oldObject.spec.template',
          message: 'the site has frozen its workloads until the audit is over',
        },
      ],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  },
];

async function paint(page: Page, name: string): Promise<void> {
  await mkdir(folder ?? '', { recursive: true });
  await page.screenshot({ path: join(folder ?? '', `${name}.png`), fullPage: true });
}

/** Confirms the change that a dialog shows. */
async function confirm(page: Page, button: string): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click();
  await page
    .getByRole('dialog')
    .getByText(/is changed|is created/)
    .waitFor();
}

describe('the console beside whole clusters', () => {
  test('apply, plan, watch the pull, pause, see one fail, ask why, mend, retry, done', { timeout: 2_400_000 }, async ({ skip }) => {
    if (obstacle) return skip(`${obstacle}; the same story on simulated spokes is in test/system/console`);
    await using world = await startPrecacheFleet(2, { hubValues: { transport: 'work' } });
    const { hub, spokes } = world.fleet;
    const browser = (await startBrowser()) ?? expect.fail('no browser');
    await using _browser = { [Symbol.asyncDispose]: () => browser.close() };
    const old = await world.pushRelease({ seed: 98, totalBytes: 4_000_000, components: 4 });
    const release = await world.pushRelease({ seed: 4, totalBytes: 40_000_000, components: 6 });
    await Promise.all(spokes.map((spoke) => startWorkloads(spoke, workloadImages(old.components))));
    for (const spoke of spokes) await spoke.setRate('16mbit');
    await using running = await startConsole(hub.kubeconfig);
    await using seen = await look(browser, await running.address(), { colorScheme: 'light' });
    const { page } = seen;
    page.context().setDefaultTimeout(300_000);
    await page.getByText('leads', { exact: false }).first().waitFor();
    await paint(page, '01-before');

    const placeholders = {
      RELEASE_IMAGE: release.release.pullSpec,
      WINDOW_START: conditionTime(Date.now() + HOUR_MS),
      ...imagePlaceholders(workloadImages(release.components)),
    };
    await applyExamples(hub, HUB_EXAMPLES, placeholders);
    const patch = JSON.stringify({ spec: { remediationStrategy: { timeout: 3 } } });
    await hub.kubectl(['-n', EXAMPLE_UPGRADE.namespace, 'patch', 'cgu', EXAMPLE_UPGRADE.name, '--type', 'merge', '-p', patch]);
    await page.getByRole('link', { name: KEY }).first().waitFor();
    await paint(page, '02-applied');
    await page.getByRole('link', { name: KEY }).first().click();
    await page.getByRole('link', { name: 'Plan', exact: true }).click();
    await page.getByText('2 in 2 batches').waitFor();
    await paint(page, '03-plan');
    await page.getByRole('link', { name: KEY }).first().click();
    await page.getByText(/[12] pulling.*MB/).waitFor();
    await eventually(async () => (await page.getByText('Bytes a second').count()) > 0, 'the plot of the rate', 120_000);
    await paint(page, '04-pull');
    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByRole('dialog').getByText('would be changed').waitFor();
    await page.getByLabel('Why, for whoever looks').fill('the site asks for an hour');
    await paint(page, '05-pause-asked');
    await confirm(page, 'Pause');
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText(/^paused: .*an hour/).waitFor();
    await paint(page, '06-paused');
    await page.getByRole('button', { name: 'Resume…' }).click();
    await confirm(page, 'Resume');
    await page.keyboard.press('Escape');
    await page.getByText('2/2').first().waitFor();

    const frozen = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: FROZEN('frozen') });
    await spokes[1]?.kubectl(['apply', '-f', '-'], { input: frozen });
    await page.getByRole('button', { name: 'Window…' }).click();
    await page.getByLabel('No window').check();
    await page.getByRole('button', { name: 'See what it would do' }).click();
    await page.getByRole('dialog').getByText('would be changed').waitFor();
    await paint(page, '07-window-asked');
    await confirm(page, 'Clear window');
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: /^Batch 1: ended, 1 of 1 done/ }).waitFor();
    await page.getByRole('link', { name: /^Why spoke-2/ }).click();
    await page
      .getByText(/frozen its workloads|not applied|Applied/)
      .first()
      .waitFor();
    await paint(page, '08-why-it-waits');
    const { page: beside } = await look(browser, await running.address('/spokes/spoke-2'));
    await beside
      .getByText(/frozen its workloads/)
      .first()
      .waitFor();
    await paint(beside, '08-spoke');
    await beside.context().close();
    await page.getByText('timed out', { exact: true }).first().waitFor({ timeout: 600_000 });
    await paint(page, '09-failed');
    await page.goto(await running.address('/spokes/spoke-2'));
    await page.getByRole('button', { name: 'Retry…' }).waitFor();
    await page.getByText('spoke-2 timed out').first().waitFor();
    await paint(page, '10-spoke');
    await spokes[1]?.kubectl(['delete', '-f', '-'], { input: frozen });
    await page.getByRole('button', { name: 'Retry…' }).click();
    await page.getByRole('dialog').getByText('would be created').waitFor();
    await paint(page, '11-retry-asked');
    await confirm(page, 'Retry');
    await page
      .getByRole('dialog')
      .getByRole('link', { name: /rollout-retry-1/ })
      .click();
    await page.getByRole('heading', { level: 1, name: `${KEY}-retry-1` }).waitFor();
    await page.getByText('done', { exact: true }).first().waitFor({ timeout: 600_000 });
    await page.getByRole('link', { name: /^Batch 1: ended, 1 of 1 done/ }).waitFor();
    await paint(page, '12-done');
    await page.goto(await running.address());
    await page.getByText('live', { exact: true }).waitFor();
    await paint(page, '13-fleet');
    expect(seen.complaints).toEqual([]);
  });
});
