import { FeedbackMode } from '@flotilla/agent';
import { startSimulatedSubject } from '../conformance/simulated-subject.ts';
import { describeSimulatedWorkFaults } from '../conformance/simulated-work-faults.ts';
import { describeSimulatedWorkWrites } from '../conformance/simulated-work-writes.ts';
import { describeWorks, SUITE_CADENCE } from '../conformance/works.ts';

/** Nothing in the suite of works asks how long something takes at least. */
const SPEED = 10;

for (const feedback of FeedbackMode)
  describeWorks({
    name: 'a simulated spoke on a hub in memory',
    extent: 'short',
    feedback,
    setup: () => startSimulatedSubject({ ...SUITE_CADENCE, feedback }, SPEED),
  });
describeSimulatedWorkFaults();
describeSimulatedWorkWrites();
