import type { FeedbackMode } from '@flotilla/agent';
import { afterAll, beforeAll, describe } from 'vitest';
import type { Extent } from './extent.ts';
import type { TransportSubject } from './transport-subject.ts';
import { applyTests } from './work-apply.ts';
import { WorkDriver } from './work-driver.ts';
import { endTests } from './work-end.ts';
import { feedbackTests } from './work-feedback.ts';
import { scaleTests } from './work-scale.ts';

/** How a subject is made. */
interface WorkSuiteOptions {
  readonly name: string;
  readonly extent: Extent;
  /** How the subject reads values back. */
  readonly feedback: FeedbackMode;
  readonly setup: () => Promise<TransportSubject>;
}

/** How often the subjects of the suite look at works: soon enough for a test, with several reads between two repairs. */
export const SUITE_CADENCE = { statusSyncMs: 1000, resyncMs: 3000 };

/** The conformance suite of ManifestWorks: the same questions to every agent, through the hub (spec/ocm 4.1 to 4.3). */
export function describeWorks({ name, extent, feedback, setup }: WorkSuiteOptions): void {
  describe(`works: ${name}, feedback ${feedback}`, () => {
    let driver: WorkDriver | undefined;
    const get = (): WorkDriver => {
      if (!driver) throw new Error('the subject did not start');
      return driver;
    };
    beforeAll(async () => {
      driver = new WorkDriver(await setup());
      await driver.prepare();
    });
    afterAll(async () => {
      await driver?.subject[Symbol.asyncDispose]();
    });
    describe('reading back', () => feedbackTests(get, feedback));
    // The rest does not depend on how values are read back.
    if (feedback === 'immediate') return;
    // Each has objects of its own, and most of it is waiting for repairs.
    describe.concurrent('applying', () => applyTests(get, extent));
    // Simulated spokes have neither workloads nor owners of fields.
    if (extent === 'full') describe.concurrent('scaling', () => scaleTests(get));
    describe('ending', () => endTests(get, extent));
  });
}
