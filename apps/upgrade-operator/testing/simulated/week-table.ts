/**
 * Notifications, silences and metrics that the reference's documents expect in the week that `week.test.ts` plays. A row has time, what, value, and
 * behind the bar the place that says so (spec/muo; steps are those of 5.3). A ≠ marks a point where the reference does otherwise and we do not follow it.
 *
 * Names of metrics are without `upgradeoperator_`. A notification's row stands for its series `upgrade_notification` and `upgrade_notification_failed` too.
 * Everywhere the same, and not said in each row: the reference looks once a minute, and stamps times anew in each look; a worker that is not drained gets its
 * 0 with the first event or resync of its Node.
 */
export const WEEK: readonly string[] = `
Mon 01:00  metric        upgradeconfig_validation_failed = 0  | 2.2 Pending
Mon 02:00  notification  StateStarted 4.14.10  | 5.3 step 1
Mon 02:00  notification  StateControlPlaneStartedSL 4.14.10  | step 8
Mon 02:00  silence       OSD control plane upgrade to version 4.14.10: until Mon 03:30  | 7.2: now + 90 min
Mon 02:00  silence       critical alerts during OSD control plane upgrade to version 4.14.10: until Mon 03:30  | 7.2: the list is not empty
Mon 02:00  metric        controlplane_upgrade_started_timestamp 4.14.10 = Mon 02:00  | step 8
Mon 02:00  metric        upgrade_started_timestamp 4.14.10 = Mon 02:00  | step 1
Mon 02:00  metric        upgrade_window_breached = 0  | step 8
Mon 03:00  notification  StateControlPlaneFinishedSL 4.14.10  | step 9
Mon 03:00  silence       OSD control plane upgrade to version 4.14.10: ended  | step 10
Mon 03:00  silence       critical alerts during OSD control plane upgrade to version 4.14.10: ended  | step 10
Mon 03:00  silence       OSD worker node upgrade to version 4.14.10 with remaining 2 nodes: until Mon 05:16  | 7.2: now + 136 min
Mon 03:00  metric        controlplane_timeout 4.14.10 = 0  | step 9
Mon 03:00  metric        controlplane_upgrade_completed_timestamp 4.14.10 = Mon 03:00  | step 9
Mon 03:00  metric        node_drain_timeout worker-0 = 0  | 2.3: not failed, or not cordoned
Mon 03:00  metric        worker_timeout 4.14.10 = 0  | step 12: a silence stands
Mon 03:00  metric        workernode_upgrade_started_timestamp 4.14.10 = Mon 03:00  | step 9
Mon 03:10  silence       OSD worker node upgrade to version 4.14.10 with remaining 2 nodes: ended  | 7.2: another count has taken its place
Mon 03:10  silence       OSD worker node upgrade to version 4.14.10 with remaining 1 nodes: until Mon 04:18  | 7.2: now + 68 min
Mon 03:10  metric        node_drain_timeout worker-1 = 0  | 2.3: not failed, or not cordoned
Mon 03:20  notification  StateWorkerPlaneFinishedSL 4.14.10  | step 12
Mon 03:20  notification  StateCompleted 4.14.10  | step 17
Mon 03:20  silence       OSD worker node upgrade to version 4.14.10 with remaining 1 nodes: ended  | step 14
Mon 03:20  metric        upgrade_completed_timestamp 4.14.10 = Mon 03:20  | step 17
Mon 03:20  metric        upgrade_result 4.14.9 z 4.14.10 = 1  | 2.2 Upgraded (there with the next pass, a minute later)
Mon 03:20  metric        workernode_upgrade_completed_timestamp 4.14.10 = Mon 03:20  | step 12
Mon 03:20  metric        gone: node_drain_timeout worker-0, node_drain_timeout worker-1  | steps 13, 15
Tue 01:00  metric        gone: all of the UpgradeConfig  | 10.3: there is no UpgradeConfig
Tue 02:00  notification  StateStarted 4.14.11  | 5.3 step 1
Tue 02:00  notification  StateControlPlaneStartedSL 4.14.11  | step 8
Tue 02:00  silence       OSD control plane upgrade to version 4.14.11: until Tue 03:30  | 7.2: now + 90 min
Tue 02:00  silence       critical alerts during OSD control plane upgrade to version 4.14.11: until Tue 03:30  | 7.2: the list is not empty
Tue 02:00  metric        controlplane_upgrade_started_timestamp 4.14.11 = Tue 02:00  | step 8
Tue 02:00  metric        upgrade_started_timestamp 4.14.11 = Tue 02:00  | step 1
Tue 02:00  metric        upgrade_window_breached = 0  | step 8
Tue 03:00  notification  StateControlPlaneFinishedSL 4.14.11  | step 9
Tue 03:00  silence       OSD control plane upgrade to version 4.14.11: ended  | step 10
Tue 03:00  silence       critical alerts during OSD control plane upgrade to version 4.14.11: ended  | step 10
Tue 03:00  silence       OSD worker node upgrade to version 4.14.11 with remaining 2 nodes: until Tue 05:16  | 7.2: now + 136 min
Tue 03:00  metric        controlplane_timeout 4.14.11 = 0  | step 9
Tue 03:00  metric        controlplane_upgrade_completed_timestamp 4.14.11 = Tue 03:00  | step 9
Tue 03:00  metric        node_drain_timeout worker-0 = 0  | 2.3: not failed, or not cordoned
Tue 03:00  metric        worker_timeout 4.14.11 = 0  | step 12: a silence stands
Tue 03:00  metric        workernode_upgrade_started_timestamp 4.14.11 = Tue 03:00  | step 9
Tue 04:08  notification  StateDelayed 4.14.11  | 7.6: PDB-DELETE after 60 + 8 min
Tue 04:16  metric        node_drain_timeout worker-0 = 1  | 7.6: failed after 68 + 8 min; ≠ its code measures while Working alone, this one is Degraded since 04:00
Tue 04:20  silence       OSD worker node upgrade to version 4.14.11 with remaining 2 nodes: ended  | 7.2: another count has taken its place
Tue 04:20  silence       OSD worker node upgrade to version 4.14.11 with remaining 1 nodes: until Tue 05:28  | 7.2: now + 68 min
Tue 04:20  metric        node_drain_timeout worker-0 = 0  | 2.3: not cordoned
Tue 04:20  metric        node_drain_timeout worker-1 = 0  | 2.3: not failed, or not cordoned
Tue 04:30  notification  StateWorkerPlaneFinishedSL 4.14.11  | step 12
Tue 04:30  notification  StateCompleted 4.14.11  | step 17
Tue 04:30  silence       OSD worker node upgrade to version 4.14.11 with remaining 1 nodes: ended  | step 14
Tue 04:30  metric        upgrade_completed_timestamp 4.14.11 = Tue 04:30  | step 17
Tue 04:30  metric        upgrade_result 4.14.10 z 4.14.11 = 1  | 2.2 Upgraded (there with the next pass, a minute later)
Tue 04:30  metric        workernode_upgrade_completed_timestamp 4.14.11 = Tue 04:30  | step 12
Tue 04:30  metric        gone: node_drain_timeout worker-0, node_drain_timeout worker-1, upgrade_result 4.14.9 z 4.14.10  | steps 13, 15; ≠ results stay until it restarts
Wed 01:00  metric        gone: all of the UpgradeConfig  | 10.3: there is no UpgradeConfig
Wed 02:00  notification  StateStarted 4.14.12  | 5.3 step 1
Wed 02:00  notification  StateControlPlaneStartedSL 4.14.12  | step 8
Wed 02:00  silence       OSD control plane upgrade to version 4.14.12: until Wed 03:30  | 7.2: now + 90 min
Wed 02:00  silence       critical alerts during OSD control plane upgrade to version 4.14.12: until Wed 03:30  | 7.2: the list is not empty
Wed 02:00  metric        controlplane_upgrade_started_timestamp 4.14.12 = Wed 02:00  | step 8
Wed 02:00  metric        upgrade_started_timestamp 4.14.12 = Wed 02:00  | step 1
Wed 02:00  metric        upgrade_window_breached = 0  | step 8
Wed 03:00  notification  StateControlPlaneFinishedSL 4.14.12  | step 9
Wed 03:00  silence       OSD control plane upgrade to version 4.14.12: ended  | step 10
Wed 03:00  silence       critical alerts during OSD control plane upgrade to version 4.14.12: ended  | step 10
Wed 03:00  silence       OSD worker node upgrade to version 4.14.12 with remaining 2 nodes: until Wed 05:16  | 7.2: now + 136 min
Wed 03:00  metric        controlplane_timeout 4.14.12 = 0  | step 9
Wed 03:00  metric        controlplane_upgrade_completed_timestamp 4.14.12 = Wed 03:00  | step 9
Wed 03:00  metric        node_drain_timeout worker-0 = 0  | 2.3: not failed, or not cordoned
Wed 03:00  metric        worker_timeout 4.14.12 = 0  | step 12: a silence stands
Wed 03:00  metric        workernode_upgrade_started_timestamp 4.14.12 = Wed 03:00  | step 9
Wed 03:53  metric        node_drain_timeout worker-0 = 1  | 7.6: failed after 45 + 8 min
Wed 04:08  metric        node_drain_timeout worker-0 = 0  | 7.6: the strategies for pods with a budget are tried
Wed 04:16  metric        node_drain_timeout worker-0 = 1  | 7.6: failed after 68 + 8 min; ≠ its code measures while Working alone, this one is Degraded since 04:00
Wed 05:16  silence       OSD worker node upgrade to version 4.14.12 with remaining 2 nodes: ran out  | Alertmanager, by itself
Wed 05:17  metric        worker_timeout 4.14.12 = 1  | step 12: no silence stands
Wed 08:10  silence       OSD worker node upgrade to version 4.14.12 with remaining 1 nodes: until Wed 09:18  | 7.2: now + 68 min
Wed 08:10  metric        node_drain_timeout worker-0 = 0  | 2.3: not failed, or not cordoned
Wed 08:10  metric        node_drain_timeout worker-1 = 0  | 2.3: not failed, or not cordoned
Wed 08:10  metric        worker_timeout 4.14.12 = 0  | step 12: a silence stands
Wed 08:20  notification  StateWorkerPlaneFinishedSL 4.14.12  | step 12
Wed 08:20  notification  StateCompleted 4.14.12  | step 17
Wed 08:20  silence       OSD worker node upgrade to version 4.14.12 with remaining 1 nodes: ended  | step 14
Wed 08:20  metric        upgrade_completed_timestamp 4.14.12 = Wed 08:20  | step 17
Wed 08:20  metric        upgrade_result 4.14.11 z 4.14.12 = 1  | 2.2 Upgraded (there with the next pass, a minute later)
Wed 08:20  metric        workernode_upgrade_completed_timestamp 4.14.12 = Wed 08:20  | step 12
Wed 08:20  metric        gone: node_drain_timeout worker-0, node_drain_timeout worker-1, upgrade_result 4.14.10 z 4.14.11  | steps 13, 15; ≠ results stay until it restarts
Thu 01:00  metric        gone: all of the UpgradeConfig  | 10.3: there is no UpgradeConfig
Thu 02:00  notification  StateStarted 4.14.13  | 5.3 step 1
Thu 02:00  notification  StateControlPlaneStartedSL 4.14.13  | step 8
Thu 02:00  silence       OSD control plane upgrade to version 4.14.13: until Thu 03:30  | 7.2: now + 90 min
Thu 02:00  silence       critical alerts during OSD control plane upgrade to version 4.14.13: until Thu 03:30  | 7.2: the list is not empty
Thu 02:00  metric        controlplane_upgrade_started_timestamp 4.14.13 = Thu 02:00  | step 8
Thu 02:00  metric        upgrade_started_timestamp 4.14.13 = Thu 02:00  | step 1
Thu 02:00  metric        upgrade_window_breached = 0  | step 8
Thu 03:00  notification  StateControlPlaneFinishedSL 4.14.13  | step 9
Thu 03:00  metric        controlplane_timeout 4.14.13 = 0  | step 9
Thu 03:00  metric        controlplane_upgrade_completed_timestamp 4.14.13 = Thu 03:00  | step 9
Thu 03:00  metric        node_drain_timeout worker-0 = 0  | 2.3: not failed, or not cordoned
Thu 03:00  metric        workernode_upgrade_started_timestamp 4.14.13 = Thu 03:00  | step 9
Thu 03:10  metric        node_drain_timeout worker-1 = 0  | 2.3: not failed, or not cordoned
Thu 03:20  notification  StateWorkerPlaneFinishedSL 4.14.13  | step 12; ≠ at 06:00: step 10 fails until Alertmanager is back
Thu 03:20  notification  StateCompleted 4.14.13  | step 17; ≠ at 06:00: step 10 fails until Alertmanager is back
Thu 03:20  metric        upgrade_completed_timestamp 4.14.13 = Thu 03:20  | step 17
Thu 03:20  metric        upgrade_result 4.14.12 z 4.14.13 = 1  | 2.2 Upgraded (there with the next pass, a minute later)
Thu 03:20  metric        worker_timeout 4.14.13 = 0  | step 12: workers are done
Thu 03:20  metric        workernode_upgrade_completed_timestamp 4.14.13 = Thu 03:20  | step 12
Thu 03:20  metric        gone: node_drain_timeout worker-0, node_drain_timeout worker-1, upgrade_result 4.14.11 z 4.14.12  | steps 13, 15; ≠ results stay until it restarts
Thu 03:30  silence       OSD control plane upgrade to version 4.14.13: ran out  | Alertmanager, by itself
Thu 03:30  silence       critical alerts during OSD control plane upgrade to version 4.14.13: ran out  | Alertmanager, by itself
Fri 01:00  metric        gone: all of the UpgradeConfig  | 10.3: there is no UpgradeConfig
Fri 02:00  notification  StateStarted 4.14.14  | 5.3 step 1
Fri 02:00  metric        upgrade_started_timestamp 4.14.14 = Fri 02:00  | step 1
Fri 02:30  notification  StateDelayed 4.14.14  | step 2: 30 min after the start
Fri 04:00  notification  StateFailed 4.14.14  | 5.6: 120 min after the start
Fri 04:00  metric        upgrade_window_breached = 1  | 5.6
Fri 04:00  metric        gone: upgrade_started_timestamp 4.14.14, upgradeconfig_validation_failed  | 10.3: given up
Sat 01:01  metric        upgradeconfig_validation_failed = 0  | 2.2 Pending
Sat 01:01  metric        gone: all of the UpgradeConfig  | 10.3: there is no UpgradeConfig
Sat 02:00  notification  StateStarted 4.14.15  | 5.3 step 1
Sat 02:00  notification  StateControlPlaneStartedSL 4.14.15  | step 8
Sat 02:00  silence       OSD control plane upgrade to version 4.14.15: until Sat 03:30  | 7.2: now + 90 min
Sat 02:00  silence       critical alerts during OSD control plane upgrade to version 4.14.15: until Sat 03:30  | 7.2: the list is not empty
Sat 02:00  metric        upgrade_started_timestamp 4.14.15 = Sat 02:00  | step 1
Sat 02:00  metric        upgrade_window_breached = 0  | step 8
Sat 02:30  notification  StateDelayed 4.14.15  | step 2: 30 min after the start
Sat 03:30  silence       OSD control plane upgrade to version 4.14.15: ran out  | Alertmanager, by itself
Sat 03:30  silence       critical alerts during OSD control plane upgrade to version 4.14.15: ran out  | Alertmanager, by itself
Sat 04:00  notification  StateFailed 4.14.15  | 5.6: 120 min after the start
Sat 04:00  metric        upgrade_window_breached = 1  | 5.6
Sat 04:00  metric        gone: upgrade_started_timestamp 4.14.15, upgradeconfig_validation_failed  | 10.3: given up
Sat 10:00  metric        upgradeconfig_validation_failed = 0  | 2.2 Pending
Sat 10:00  metric        gone: all of the UpgradeConfig  | 10.3: there is no UpgradeConfig
Sat 10:30  notification  StateStarted 4.14.15  | 5.3 step 1
Sat 10:30  notification  StateControlPlaneStartedSL 4.14.15  | step 8
Sat 10:30  silence       OSD control plane upgrade to version 4.14.15: until Sat 12:00  | 7.2: now + 90 min; ≠ none: the one of the first attempt counts
Sat 10:30  silence       critical alerts during OSD control plane upgrade to version 4.14.15: until Sat 12:00  | 7.2: the list is not empty; ≠ none: the one of the first attempt counts
Sat 10:30  metric        controlplane_upgrade_started_timestamp 4.14.15 = Sat 10:30  | step 8
Sat 10:30  metric        upgrade_started_timestamp 4.14.15 = Sat 10:30  | step 1
Sat 10:30  metric        upgrade_window_breached = 0  | step 8
Sat 11:30  notification  StateControlPlaneFinishedSL 4.14.15  | step 9
Sat 11:30  silence       OSD control plane upgrade to version 4.14.15: ended  | step 10; ≠ there is none
Sat 11:30  silence       critical alerts during OSD control plane upgrade to version 4.14.15: ended  | step 10; ≠ there is none
Sat 11:30  silence       OSD worker node upgrade to version 4.14.15 with remaining 2 nodes: until Sat 13:46  | 7.2: now + 136 min
Sat 11:30  metric        controlplane_timeout 4.14.15 = 0  | step 9
Sat 11:30  metric        controlplane_upgrade_completed_timestamp 4.14.15 = Sat 11:30  | step 9
Sat 11:30  metric        node_drain_timeout worker-0 = 0  | 2.3: not failed, or not cordoned
Sat 11:30  metric        worker_timeout 4.14.15 = 0  | step 12: a silence stands
Sat 11:30  metric        workernode_upgrade_started_timestamp 4.14.15 = Sat 11:30  | step 9
Sat 11:40  silence       OSD worker node upgrade to version 4.14.15 with remaining 2 nodes: ended  | 7.2: another count has taken its place
Sat 11:40  silence       OSD worker node upgrade to version 4.14.15 with remaining 1 nodes: until Sat 12:48  | 7.2: now + 68 min
Sat 11:40  metric        node_drain_timeout worker-1 = 0  | 2.3: not failed, or not cordoned
Sat 11:50  notification  StateWorkerPlaneFinishedSL 4.14.15  | step 12
Sat 11:50  notification  StateCompleted 4.14.15  | step 17
Sat 11:50  silence       OSD worker node upgrade to version 4.14.15 with remaining 1 nodes: ended  | step 14
Sat 11:50  metric        upgrade_completed_timestamp 4.14.15 = Sat 11:50  | step 17
Sat 11:50  metric        upgrade_result 4.14.13 z 4.14.15 = 1  | 2.2 Upgraded (there with the next pass, a minute later)
Sat 11:50  metric        workernode_upgrade_completed_timestamp 4.14.15 = Sat 11:50  | step 12
Sat 11:50  metric        gone: node_drain_timeout worker-0, node_drain_timeout worker-1, upgrade_result 4.14.12 z 4.14.13  | steps 13, 15; ≠ results stay until it restarts
Sun 01:00  metric        gone: all of the UpgradeConfig  | 10.3: there is no UpgradeConfig
Sun 02:00  notification  StateStarted 4.14.16  | 5.3 step 1
Sun 02:00  notification  StateControlPlaneStartedSL 4.14.16  | step 8
Sun 02:00  silence       OSD control plane upgrade to version 4.14.16: until Sun 03:30  | 7.2: now + 90 min
Sun 02:00  silence       critical alerts during OSD control plane upgrade to version 4.14.16: until Sun 03:30  | 7.2: the list is not empty
Sun 02:00  metric        controlplane_upgrade_started_timestamp 4.14.16 = Sun 02:00  | step 8
Sun 02:00  metric        upgrade_started_timestamp 4.14.16 = Sun 02:00  | step 1
Sun 02:00  metric        upgrade_window_breached = 0  | step 8
Sun 03:30  silence       OSD control plane upgrade to version 4.14.16: ran out  | Alertmanager, by itself
Sun 03:30  silence       critical alerts during OSD control plane upgrade to version 4.14.16: ran out  | Alertmanager, by itself
Sun 03:30  metric        controlplane_timeout 4.14.16 = 1  | step 9: 90 min after its start
Sun 03:45  notification  StateControlPlaneFinishedSL 4.14.16  | step 9
Sun 03:45  silence       OSD worker node upgrade to version 4.14.16 with remaining 2 nodes: until Sun 06:01  | 7.2: now + 136 min
Sun 03:45  metric        controlplane_timeout 4.14.16 = 0  | step 9
Sun 03:45  metric        controlplane_upgrade_completed_timestamp 4.14.16 = Sun 03:45  | step 9
Sun 03:45  metric        node_drain_timeout worker-0 = 0  | 2.3: not failed, or not cordoned
Sun 03:45  metric        worker_timeout 4.14.16 = 0  | step 12: a silence stands
Sun 03:45  metric        workernode_upgrade_started_timestamp 4.14.16 = Sun 03:45  | step 9
Sun 03:55  metric        node_drain_timeout worker-1 = 0  | 2.3: not failed, or not cordoned
Sun 04:05  notification  StateWorkerPlaneFinishedSL 4.14.16  | step 12
Sun 04:05  notification  StateCompleted 4.14.16  | step 17; ≠ at 05:30: step 14 fails until Alertmanager is back
Sun 04:05  metric        upgrade_completed_timestamp 4.14.16 = Sun 04:05  | step 17
Sun 04:05  metric        upgrade_result 4.14.15 z 4.14.16 = 1  | 2.2 Upgraded (there with the next pass, a minute later)
Sun 04:05  metric        workernode_upgrade_completed_timestamp 4.14.16 = Sun 04:05  | step 12
Sun 04:05  metric        gone: node_drain_timeout worker-0, node_drain_timeout worker-1, upgrade_result 4.14.13 z 4.14.15  | steps 13, 15; ≠ results stay until it restarts
Sun 05:31  silence       OSD worker node upgrade to version 4.14.16 with remaining 2 nodes: ended  | step 14
`
  .trim()
  .split('\n');
