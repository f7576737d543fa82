import { FeedbackMode } from '@flotilla/agent';
import { startSimulatedSubject } from '../conformance/simulated-subject.ts';
import { describeSimulatedWorkFaults } from '../conformance/simulated-work-faults.ts';
import { describeSimulatedWorkWrites } from '../conformance/simulated-work-writes.ts';
import { describeWorks, SUITE_CADENCE } from '../conformance/works.ts';

for (const feedback of FeedbackMode)
  describeWorks({
    name: 'a simulated spoke on a real hub API server',
    extent: 'short',
    feedback,
    setup: () => startSimulatedSubject({ ...SUITE_CADENCE, feedback }),
  });
describeSimulatedWorkFaults();
describeSimulatedWorkWrites();
