import { startSimulatedSubject } from '../conformance/simulated-subject.ts';
import { describeSimulatedWorkFaults } from '../conformance/simulated-work-faults.ts';
import { describeWorks, SUITE_CADENCE } from '../conformance/works.ts';

describeWorks({ name: 'a simulated spoke on a real hub API server', setup: () => startSimulatedSubject(SUITE_CADENCE) });
describeSimulatedWorkFaults();
