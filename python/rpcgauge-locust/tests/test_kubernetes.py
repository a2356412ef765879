"""Checks the manifests of examples/kubernetes against the schemas of Kubernetes, and against each other."""

import pathlib
import unittest

import kubernetes_validate
import yaml

FOLDER = pathlib.Path(__file__).parents[3] / "examples" / "kubernetes"


class Kubernetes(unittest.TestCase):
    def setUp(self):
        self.values = yaml.safe_load((FOLDER / "values.yaml").read_text())
        self.manifests = list(yaml.safe_load_all((FOLDER / "workers.yaml").read_text()))

    def test_manifests_are_valid(self):
        for manifest in self.manifests:
            kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)

    def test_workers_find_the_master_and_the_master_its_volume(self):
        claim, workers = self.manifests
        arguments = workers["spec"]["template"]["spec"]["containers"][0]["args"]
        master = arguments[arguments.index("--master") + 1]
        self.assertEqual(master, self.values["fullnameOverride"] + ":5557")
        [volume] = self.values["master"]["extraVolumes"]
        self.assertEqual(volume["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"])
        [mount] = self.values["master"]["extraVolumeMounts"]
        locustfile = (FOLDER / self.values["loadtest"]["locust_locustfile"]).read_text()
        self.assertIn(f'collect("{mount["mountPath"]}"', locustfile)


if __name__ == "__main__":
    unittest.main()
