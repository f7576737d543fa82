import { startAgentSubject } from '../conformance/agent-subject.ts';
import { describeWorks, SUITE_CADENCE } from '../conformance/works.ts';

// Reading back, which is all of the suite that immediate feedback has, deletes nothing; the rest needs a garbage collector.
describeWorks({
  name: 'our agent between two real API servers',
  extent: 'full',
  feedback: 'immediate',
  setup: () => startAgentSubject({ works: { ...SUITE_CADENCE, feedback: 'immediate' } }),
});
