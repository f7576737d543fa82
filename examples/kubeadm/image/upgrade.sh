#!/bin/sh
# Upgrades the node whose root is at /host to the version of the Plan. With `wait PLAN` it waits until that Plan is through on every node of the control plane.
set -eu
host=${HOST_ROOT:-/host} own=$(dirname "$0")
version=$SYSTEM_UPGRADE_PLAN_LATEST_VERSION

# Beside the old program, then in its place: one that runs cannot be written over.
put() { cp "$own/$1" "$host/usr/bin/$1.new" && mv "$host/usr/bin/$1.new" "$host/usr/bin/$1"; }
on_host() { chroot "$host" "$@"; }
control_plane() { "$own/kubectl" get nodes --selector "node-role.kubernetes.io/control-plane,$1plan.upgrade.cattle.io/$plan" --output name; }

if [ "${1-}" = wait ]; then
  plan=$2
  while :; do
    through=$(control_plane '') && missing=$(control_plane '!') && [ -n "$through" ] && [ -z "$missing" ] && exit 0
    echo "waiting for the control plane: ${missing:-nobody answers}"
    sleep "${PAUSE_SECONDS:-10}"
  done
fi

put kubeadm
if [ -e "$host/etc/kubernetes/admin.conf" ]; then
  put kubectl
  config=$(on_host kubectl --kubeconfig /etc/kubernetes/admin.conf --namespace kube-system get configmap kubeadm-config --output 'jsonpath={.data.ClusterConfiguration}')
  running=$(printf '%s\n' "$config" | sed -n 's/^kubernetesVersion: *//p')
  [ -n "$running" ] || { echo "ConfigMap kube-system/kubeadm-config names no kubernetesVersion"; exit 1; }
  # The first node upgrades the cluster's own settings too.
  if [ "$running" = "$version" ]; then on_host kubeadm upgrade node; else on_host kubeadm upgrade apply --yes "$version"; fi
else
  on_host kubeadm upgrade node
fi
put kubelet
on_host systemctl daemon-reload
on_host systemctl restart kubelet
