import { FeedbackMode } from '@flotilla/agent';
import { startAgentSubject } from '../conformance/agent-subject.ts';
import { describeWorks, SUITE_CADENCE } from '../conformance/works.ts';

for (const feedback of FeedbackMode)
  describeWorks({
    name: 'our agent between two real API servers',
    extent: 'full',
    feedback,
    // Reading back, which is all of the suite that immediate feedback has, deletes nothing.
    setup: () => startAgentSubject({ works: { ...SUITE_CADENCE, feedback }, garbageCollection: feedback === 'settled' }),
  });
