import { describeSimulatedFaults } from '../conformance/simulated-faults.ts';
import { startSimulatedSubject } from '../conformance/simulated-subject.ts';
import { describeTransport } from '../conformance/transport.ts';

describeTransport({ name: 'a simulated spoke on a hub in memory', extent: 'short', setup: () => startSimulatedSubject() });
describeSimulatedFaults();
