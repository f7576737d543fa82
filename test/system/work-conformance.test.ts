import { startAgentSubject } from '../conformance/agent-subject.ts';
import { describeWorks, SUITE_CADENCE } from '../conformance/works.ts';

describeWorks({
  name: 'our agent between two real API servers, with the controllers of one',
  extent: 'full',
  feedback: 'settled',
  setup: () => startAgentSubject({ works: { ...SUITE_CADENCE, feedback: 'settled' }, garbageCollection: true }),
});
