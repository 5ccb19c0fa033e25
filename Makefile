# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
# Where pytest leaves its counts for .ci/run.
RESULTS := .cache/results
LAB_INVENTORY := inventories/lab
DEMO_PROMPT := Who are you?
SSH_TO_HEAD := ssh -i ~/.samewire/lab/id_ed25519 -o UserKnownHostsFile=~/.samewire/lab/known_hosts root@10.213.1.180
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Molecule and Ansible find the collection through the link, from any directory.
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/collections:$(HOME)/.ansible/collections
molecule := MOLECULE_GLOB='molecule/*/molecule.yml' molecule

# $(call timed,TITLE,COMMAND): runs COMMAND, says how long it took, keeps its exit status.
timed = @start=$$(date +%s%N); $(2); code=$$?; ms=$$(( ($$(date +%s%N) - start) / 1000000 )); \
	printf '== %s: %s in %d.%d s\n' '$(1)' "$$([ $$code = 0 ] && echo done || echo FAILED)" $$((ms / 1000)) $$((ms % 1000 / 100)); \
	exit $$code

# uv installs in seconds what takes pip most of a minute; pip knows this machine's own mirrors, so it is the second try.
define make_venv
python=$$(for p in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
	  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done); \
	test -n "$$python" || { echo "setup: no Python 3.11 or newer on PATH; install one, with its venv module." >&2; exit 1; }; \
	$$python -m venv --clear $(VENV) && $(BIN)/pip install --quiet --upgrade pip uv && \
	{ $(BIN)/uv pip install --quiet --python $(BIN)/python --group dev --editable . || \
	  $(BIN)/pip install --quiet --group dev --editable .; }
endef

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## Make .venv with all tools (again only when pyproject.toml changed)

$(STAMP): pyproject.toml
	$(call timed,setup,$(make_venv))
	@touch $@

.PHONY: demo
demo: ## From a bare machine to a chat completion on the two-node lab
	$(call timed,demo in total,$(MAKE) demo-parts)
	@printf '%s\n' 'Look around:' '  $(BIN)/samewire lab status' '  $(BIN)/samewire chat -i $(LAB_INVENTORY) "Hello"' \
	  '  $(SSH_TO_HEAD) docker ps' 'Stop the lab with: make lab-down'

.PHONY: demo-parts
demo-parts: $(STAMP)
	$(call timed,lab,samewire lab up)
	$(call timed,deployment,samewire deploy -i $(LAB_INVENTORY))
	@printf '> %s\n' '$(DEMO_PROMPT)'
	$(call timed,chat completion,samewire chat -i $(LAB_INVENTORY) '$(DEMO_PROMPT)')

.PHONY: lab-down
lab-down: $(STAMP) ## Stop the lab; its images stay for the next time
	@samewire lab down

.PHONY: docs
docs: $(STAMP) ## The documentation as a site, in build/site; a broken link fails
	$(call timed,site,NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet)

.PHONY: pictures
pictures: $(STAMP) ## The pictures of the README, from real runs on the lab
	$(call timed,lab up,samewire lab up)
	$(call timed,pictures,docs/pictures.sh)

.PHONY: lint
lint: lint-python lint-yaml lint-changelog lint-ansible ## All linters

.PHONY: lint-python
lint-python: $(STAMP) ## ruff and mypy: seconds
	$(call timed,ruff,ruff check --quiet --output-format concise . && ruff format --quiet --check .)
	$(call timed,mypy,mypy)

.PHONY: lint-yaml
lint-yaml: $(STAMP) ## yamllint: seconds
	$(call timed,yamllint,yamllint --strict .)

.PHONY: lint-changelog
lint-changelog: $(STAMP) ## antsibull-changelog: seconds
	$(call timed,antsibull-changelog,antsibull-changelog lint)

.PHONY: lint-ansible
lint-ansible: .cache/ansible-lint.ok ## ansible-lint, profile production: half a minute, only after changes

ansible_sources := $(shell find .config deploy.yml galaxy.yml inventories meta molecule playbooks plugins roles -type f 2>/dev/null)
.cache/ansible-lint.ok: $(STAMP) $(ansible_sources)
	$(call timed,ansible-lint,ansible-lint --offline -q)
	@mkdir -p $(@D) && touch $@

.PHONY: unit
unit: $(STAMP) ## Tests that need neither Docker nor the lab
	$(call timed,unit tests,pytest tests/unit tests/driver --junitxml=$(RESULTS)/unit.xml)

# The newest Python and ansible-core that are supported, where the others are the oldest; pip takes the core that
# belongs to the Python.
.PHONY: unit-newest
unit-newest: $(STAMP) ## mypy and the unit tests on Python 3.13 with the newest ansible-core, where it is installed
	@newest=$$(for p in python3.13 "$$(PYENV_VERSION=$$(pyenv latest 3.13 2>/dev/null) pyenv which python3.13 2>/dev/null)"; do \
	  "$$p" -c "" 2>/dev/null && echo "$$p" && break; done); \
	if [ -z "$$newest" ]; then echo "Python 3.13 is not installed: not tested with it" >&2; else \
	  $(MAKE) VENV=.cache/python3.13 PYTHON=$$newest RESULTS=$(RESULTS)/newest lint-python unit; fi

.PHONY: collection
collection: $(STAMP) ## The collection as a tarball, in build
	$(call timed,collection,ansible-galaxy collection build --force --output-path build)

.PHONY: artifact-test
artifact-test: $(STAMP) ## The tarball of the collection and the wheel, installed where nothing else is
	$(call timed,artifact tests,pytest tests/artifacts --junitxml=$(RESULTS)/artifacts.xml)

# ansible-test wants its folders' names, a repository, and an environment that does not know this clone.
sanity_folder := build/sanity/ansible_collections/samewire/vllm
define sanity
rm -rf build/sanity && mkdir -p $(sanity_folder)/tests && \
	tar -xzf build/samewire-vllm-*.tar.gz -C $(sanity_folder) && \
	cp tests/config.yml $(sanity_folder)/tests && \
	cd $(sanity_folder) && git init --quiet && echo /tests/output/ >.git/info/exclude && \
	ansible-test sanity --venv $(SANITY)
endef

.PHONY: sanity
sanity: collection ## ansible-test sanity on the built collection: many minutes; SANITY="--test pep8" for one
	$(call timed,sanity,$(sanity))

# What the tests need beside Python, installed where this may be done: Debian or Ubuntu, as root. In run level 1
# no package starts its service.
programs = missing=$$(for p in chromium iptables nft ping prometheus-node-exporter promtool rsync sshd; do \
	  command -v $$p >/dev/null || echo $$p; done | sed 's/^sshd$$/openssh-server/; s/^ping$$/iputils-ping/; s/^nft$$/nftables/; \
	  s/^promtool$$/prometheus/'); \
	test -z "$$missing" || { apt-get update -qq && \
	  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing >/dev/null; } || \
	echo "Not installed: $$missing; the tests that need them are skipped." >&2

.PHONY: programs
programs:
	$(call timed,programs for the tests,$(programs))

.PHONY: namespace-test
namespace-test: $(STAMP) programs ## Faults of the wire, in network namespaces: needs root
	$(call timed,namespace tests,pytest tests/netns --junitxml=$(RESULTS)/netns.xml)

.PHONY: lab-test
lab-test: $(STAMP) ## Boot the lab, test it, deploy on it and verify
	$(call timed,lab up,samewire lab up)
	$(call timed,lab tests,pytest tests/lab -m "not deploys and not faults and not heals" --junitxml=$(RESULTS)/lab.xml)
	$(call timed,molecule default,$(molecule) test -s default)
	$(call timed,deployments,pytest tests/lab -m deploys --junitxml=$(RESULTS)/deployments.xml)

.PHONY: test
test: programs lint unit unit-newest artifact-test namespace-test lab-test ## Everything that a change must pass

.PHONY: test-all
test-all: test ## test, and the slow scenarios
	$(call timed,faults,pytest tests/lab -m faults -rP --junitxml=$(RESULTS)/faults.xml)
	$(call timed,healing,pytest tests/lab -m heals -rP --junitxml=$(RESULTS)/healing.xml)

.PHONY: bench
bench: $(STAMP) programs ## Measure what is claimed, on a quiet machine: half an hour; BENCH="growth --rounds 3" for less
	$(call timed,lab up,samewire lab up)
	$(call timed,bench,python -m bench $(BENCH) --json build/bench.json)

.PHONY: clean
clean: ## Remove what the targets made in this folder
	@rm -rf .venv .cache .ansible .hypothesis build dist
