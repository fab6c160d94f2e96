// One maker per command; each is defined in the file of the command's name, switches in those of
// sweeps and workers, `restore` in that of `backup`.
#pragma once

#include <memory>

#include "coordinator/cli/command.h"

namespace noisefloor::cli {

std::unique_ptr<Command> MakeRun();
std::unique_ptr<Command> MakeServe();
std::unique_ptr<Command> MakeSubmit();
std::unique_ptr<Command> MakePlan();
std::unique_ptr<Command> MakeStatus();
std::unique_ptr<Command> MakeWatch();
std::unique_ptr<Command> MakeMembers();
std::unique_ptr<Command> MakeWorkers();
std::unique_ptr<Command> MakeSettings();
std::unique_ptr<Command> MakeShow();
std::unique_ptr<Command> MakeExplain();
std::unique_ptr<Command> MakeLogs();
std::unique_ptr<Command> MakeCancel();
std::unique_ptr<Command> MakeRetry();
std::unique_ptr<Command> MakeExtend();
std::unique_ptr<Command> MakePause();
std::unique_ptr<Command> MakeResume();
std::unique_ptr<Command> MakeUpdate();
std::unique_ptr<Command> MakeArchive();
std::unique_ptr<Command> MakeUnarchive();
std::unique_ptr<Command> MakeDelete();
std::unique_ptr<Command> MakeDrain();
std::unique_ptr<Command> MakeShares();
std::unique_ptr<Command> MakeShare();
std::unique_ptr<Command> MakeUndrain();
std::unique_ptr<Command> MakeQuarantine();
std::unique_ptr<Command> MakeRelease();
std::unique_ptr<Command> MakeReport();
std::unique_ptr<Command> MakeCompare();
std::unique_ptr<Command> MakeAnalyze();
std::unique_ptr<Command> MakeMerge();
std::unique_ptr<Command> MakeInfer();
std::unique_ptr<Command> MakeReplay();
std::unique_ptr<Command> MakeExport();
std::unique_ptr<Command> MakeFleet();
std::unique_ptr<Command> MakeAccess();
std::unique_ptr<Command> MakeSql();
std::unique_ptr<Command> MakeBackupCommand();
std::unique_ptr<Command> MakeRestore();
std::unique_ptr<Command> MakeGc();
std::unique_ptr<Command> MakeDoctor();
std::unique_ptr<Command> MakeData();
std::unique_ptr<Command> MakeStacks();
std::unique_ptr<Command> MakeConform();
std::unique_ptr<Command> MakeCompletion();
std::unique_ptr<Command> MakeVersion();

}  // namespace noisefloor::cli
