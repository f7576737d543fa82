# Applies an upgrade and waits until it is ready. Provider: hashicorp/kubernetes.
resource "kubernetes_manifest" "release" {
  manifest = yamldecode(file("${path.module}/cluster-group-upgrade.yaml"))

  wait {
    condition {
      type   = "Ready"
      status = "True"
    }
  }

  timeouts {
    create = "24h"
    update = "24h"
  }

  field_manager {
    name = "terraform"
  }
}
