import { startAgentSubject } from '../conformance/agent-subject.ts';
import { describeRegistration } from '../conformance/registration.ts';
import { describeTransport } from '../conformance/transport.ts';

describeTransport({ name: 'our agent between two real API servers', extent: 'full', setup: () => startAgentSubject() });
describeRegistration(() => startAgentSubject());
