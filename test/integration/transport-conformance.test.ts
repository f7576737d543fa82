import { startAgentSubject } from '../conformance/agent-subject.ts';
import { describeRegistration } from '../conformance/registration.ts';
import { describeSimulatedFaults } from '../conformance/simulated-faults.ts';
import { startSimulatedSubject } from '../conformance/simulated-subject.ts';
import { describeTransport } from '../conformance/transport.ts';

describeTransport({ name: 'our agent between two real API servers', setup: () => startAgentSubject() });
describeTransport({ name: 'a simulated spoke on a real hub API server', setup: () => startSimulatedSubject() });
describeRegistration(() => startAgentSubject());
describeSimulatedFaults();
