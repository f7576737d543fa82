import { startAgentSubject } from '../conformance/agent-subject.ts';
import { describeWorks, SUITE_CADENCE } from '../conformance/works.ts';

describeWorks({
  name: 'our agent between two real API servers',
  setup: () => startAgentSubject({ works: SUITE_CADENCE, garbageCollection: true }),
});
