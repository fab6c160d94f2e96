#include "coordinator/cli/commands.h"

namespace noisefloor::cli {

std::vector<std::unique_ptr<Command>> AllCommands() {
  std::vector<std::unique_ptr<Command>> all;
  for (const auto make :
       {MakeRun,     MakeServe,         MakeSubmit,     MakePlan,   MakeStatus,  MakeWatch,
        MakeMembers, MakeWorkers,       MakeSettings,   MakeShow,   MakeExplain, MakeLogs,
        MakeCancel,  MakeRetry,         MakeExtend,     MakePause,  MakeResume,  MakeUpdate,
        MakeArchive, MakeUnarchive,     MakeDelete,     MakeDrain,  MakeUndrain, MakeQuarantine,
        MakeRelease, MakeShares,        MakeShare,      MakeReport, MakeCompare, MakeAnalyze,
        MakeMerge,   MakeReplay,        MakeInfer,      MakeExport, MakeFleet,   MakeAccess,
        MakeSql,     MakeBackupCommand, MakeRestore,    MakeGc,     MakeDoctor,  MakeData,
        MakeStacks,  MakeConform,       MakeCompletion, MakeVersion}) {
    all.push_back(make());
  }
  return all;
}

}  // namespace noisefloor::cli
