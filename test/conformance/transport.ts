import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Extent } from './extent.ts';
import { actionTests, type Running } from './transport-actions.ts';
import { configMap, SPOKE_NAMESPACE, TransportDriver } from './transport-driver.ts';
import type { TransportSubject } from './transport-subject.ts';
import { viewTests } from './transport-views.ts';

/** How a subject is made. */
interface TransportSuiteOptions {
  readonly name: string;
  readonly extent: Extent;
  readonly setup: () => Promise<TransportSubject>;
}

/** The conformance suite of the transport's spoke side: the same questions to every agent, through the hub (spec/ocm 1.3 to 1.11). */
export function describeTransport({ name, extent, setup }: TransportSuiteOptions): void {
  describe(`transport: ${name}`, () => {
    let running: Running | undefined;
    const get = (): Running => {
      if (!running) throw new Error('the subject did not start');
      return running;
    };
    beforeAll(async () => {
      const subject = await setup();
      running = { subject, driver: new TransportDriver(subject) };
      await running.driver.prepare();
    });
    afterAll(async () => {
      await running?.subject[Symbol.asyncDispose]();
    });
    describe('actions', () => actionTests(get, extent));
    describe('views', () => viewTests(get, extent));
    test('beyond ten at once the agent answers about five a second', () => expectRateLimit(get()));
  });
}

const ASKED = 30;

async function expectRateLimit({ driver }: Running): Promise<void> {
  const startedAt = Date.now();
  const names = await Promise.all(
    Array.from({ length: ASKED }, () =>
      driver.act({ actionType: 'Create', kube: { template: configMap(driver.name('rate'), {}, { namespace: SPOKE_NAMESPACE }) } }),
    ),
  );
  for (const name of names) await driver.verdict(name, 'True');
  const seconds = (Date.now() - startedAt) / 1000;
  // 30 writes: at best 10 at once and 20 at five a second; polls of other views may take a few tokens.
  expect(seconds).toBeGreaterThan(3.5);
  expect(seconds).toBeLessThan(12);
}
